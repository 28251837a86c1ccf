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

// exitFailure is the exit status after an error.
const exitFailure = 1

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the work in good order. From then on signals act as usual, so that the second one ends the
	// process even if something hangs.
	context.AfterFunc(ctx, stop)
	if err := newRoot().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sheaf:", libraryError{err})
		os.Exit(exitFailure)
	}
}

// libraryError shows an error of package sheaf without the name of the package. The program prints
// that name before each error.
type libraryError struct{ err error }

func (e libraryError) Error() string { return strings.TrimPrefix(e.err.Error(), "sheaf: ") }

func (e libraryError) Unwrap() error { return e.err }

// newRoot returns the command with its subcommands, each of which stands in its own file.
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
