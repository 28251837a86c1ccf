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

// Main runs the simulator with these scenarios and ends the program. Its exit code is 0 if the run
// was complete, no user failed, and the invariants held.
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

// These errors mean that a run has measurements, but is not valid.
var (
	// ErrPartial is returned if the run was not complete.
	ErrPartial = errors.New("the run is partial")
	// ErrWrong is returned if invariants are broken after the run. The design is then wrong,
	// whatever the figures are.
	ErrWrong = engine.ErrWrong
	// ErrFailed is returned if users failed, or did not end in time.
	ErrFailed = errors.New("users failed")
)

// Command returns the command "sim" with its subcommands.
func Command(definitions ...*scenario.Definition) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Measure designs under load before you build on them",
		Long: "Measure designs under load before you build on them. The users of a scenario start on schedule, whether or not the server keeps\n" +
			"up. Scenarios run on an embedded store or on any MongoDB, and their invariants are checked after each run.",
		Example: "  sheaf sim list\n" +
			"  sheaf sim run cart-reserve --users 200 --html report.html\n" +
			"  sheaf sim run transfer --uri mongodb://127.0.0.1:27017 --find-limit\n" +
			"  sheaf sim versus cart",
		SilenceUsage: true,
		Args:         cobra.NoArgs, // otherwise an unknown subcommand would print the help and succeed
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
	cmd.AddCommand(newList(with), newShow(with), newRun(with), newReport(), newCompare(),
		newVersus(with), newAgent(with))
	return cmd
}

// withSet turns a function that needs the scenarios into a function that runs a command.
type withSet = func(func(scenario.Set, *cobra.Command, []string) error) func(*cobra.Command, []string) error
