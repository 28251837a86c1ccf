// Command sheaf runs and operates the Sheaf document database.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/sim"
	"github.com/sheafdb/sheaf/sim/scenarios"
)

const exitFailure = 1

func main() {
	ctx := untilSignal()
	if err := newRoot().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sheaf:", libraryError{explainInterrupt(ctx, err)})
		os.Exit(exitFailure)
	}
}

// untilSignal returns a context that the first signal cancels, for a graceful end. After that,
// Ctrl-C and SIGTERM have their usual effect, so a second signal ends the process even if something
// hangs.
//
// SIGHUP means that the terminal was closed. Only the first SIGHUP counts, because the kernel and
// the shell may each send one. A process that was started with nohup ignores it.
func untilSignal() context.Context {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // so that further SIGHUPs have no effect
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	return ctx
}

// libraryError prints an error of package sheaf without the prefix "sheaf: ". The program prints
// that prefix before each error.
type libraryError struct{ err error }

func (e libraryError) Error() string { return strings.TrimPrefix(e.err.Error(), "sheaf: ") }

func (e libraryError) Unwrap() error { return e.err }

// newRoot returns the root command with its subcommands. Each subcommand has its own file.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "sheaf",
		Short:         "A document database that speaks MongoDB",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versionText(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(newServe(), newImport(), newExport(), newVersion(), sim.Command(scenarios.All()...))
	return root
}
