// Package sim is the workload simulator as a program. Use it to build your own program with the
// commands of `sheaf sim` and your own scenarios:
//
//	func main() { sim.Main(append(scenarios.All(), mine)...) }
//
// Package scenario defines what a scenario is, package engine runs plans of scenarios, and package
// report shows the results.
package sim
