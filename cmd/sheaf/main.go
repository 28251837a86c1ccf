// Command sheaf runs and operates the Sheaf document database.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/sim"
	"github.com/sheafdb/sheaf/sim/scenarios"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newRoot().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sheaf:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// newRoot returns the command with its subcommands, each of which stands in its own file.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "sheaf",
		Short:         "A document database that speaks MongoDB",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newServe(), newImport(), newExport(), newVersion(), sim.Command(scenarios.All()...))
	return root
}
