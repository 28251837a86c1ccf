package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// Main runs the simulator with these scenarios and ends the program. Its exit code is 0 if the run was whole,
// no user failed, and the invariants held.
func Main(definitions ...*scenario.Definition) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	cmd := Command(definitions...)
	cmd.SilenceErrors = true
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		stop()
		os.Exit(1) //nolint:forbidigo,gocritic // this is the program's main; stop was called
	}
	stop()
}

// Errors that say that a run has measured something, but not what was asked for.
var (
	// ErrPartial says that the run is not whole.
	ErrPartial = errors.New("the run is partial")
	// ErrWrong says that invariants do not hold behind the run: whatever it has measured, the design is not right.
	ErrWrong = engine.ErrWrong
	// ErrFailed says that users failed, or did not come to an end in time.
	ErrFailed = errors.New("users failed")
)

// Command returns the command "sim" with its subcommands.
func Command(definitions ...*scenario.Definition) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Measure designs under load on this machine before building on them",
		Long: "Measure designs under load on this machine before building on them: scenarios of users who start whether or not the server keeps up,\n" +
			"on an embedded store or any MongoDB, with their invariants checked behind each run.",
		Example: "  sheaf sim list\n" +
			"  sheaf sim run cart-reserve --users 200 --html report.html\n" +
			"  sheaf sim run transfer --uri mongodb://127.0.0.1:27017 --find-limit\n" +
			"  sheaf sim versus cart",
		SilenceUsage: true,
		Args:         cobra.NoArgs, // or a subcommand that does not exist would print the help and succeed
		RunE:         func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	set, err := scenario.NewSet(definitions...)
	with := func(fn func(scenario.Set, *cobra.Command, []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			if err != nil {
				return err
			}
			return fn(set, cmd, args)
		}
	}
	cmd.AddCommand(newList(with), newShow(with), newRun(with), newReport(), newCompare(), newVersus(with), newAgent(with))
	return cmd
}

// withSet makes what runs a command of a function that knows the scenarios.
type withSet = func(func(scenario.Set, *cobra.Command, []string) error) func(*cobra.Command, []string) error
