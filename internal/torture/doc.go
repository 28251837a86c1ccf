// Package torture decides how long attacks in tests run, and with which seed. It also has a network
// that fails at random (Proxy), and tools to measure processor time. Only tests import it.
//
// All packages with attacks have the same flags:
//
//	go test ./internal/crashtest -run TestKillRetries -v -torture.time=5m -torture.seed=42 -timeout 1h
//
// Without a flag, `go test ./...` does an eighth of the long work, so that it ends within minutes,
// and with -short a 32nd (Part, Time). Tables of cases are sampled (Some). With SHEAF_TEST_LONG=1,
// as in `make ci`, it does all of it. `make torture` sets the flags.
//
// Invariants:
//
//  1. A seed repeats every random decision of the test with the same name. It does not repeat the
//     schedule of goroutines and processes.
//  2. `go test` uses the same seed every time, so that the result does not depend on luck. `make
//     torture` uses a new seed, and the test logs it.
//  3. A run stops at the first failure.
//
// The package has no attack of its own.
//
// To write an attack: Begin a Run, loop while Next reports true, and take random numbers from Rand.
package torture
