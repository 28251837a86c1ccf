// Package sim is the workload simulator as a program: what `sheaf sim` runs, for a binary of one's own with scenarios of one's own.
//
//	func main() { sim.Main(append(scenarios.All(), mine)...) }
//
// Package scenario says what a scenario is, package engine runs plans of them, package report shows what they have measured.
package sim
