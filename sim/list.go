package sim

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/sim/scenario"
)

func newList(with withSet) *cobra.Command {
	return &cobra.Command{
		Use:   "list [GROUP]",
		Short: "List the scenarios, or those of a pattern",
		Args:  cobra.MaximumNArgs(1),
		RunE: with(func(set scenario.Set, cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				group := set.Group(args[0])
				if len(group) == 0 {
					_, err := set.Find(args[0])
					return fmt.Errorf("there is no pattern %q: %w", args[0], err)
				}
				set = group
			}
			return list(cmd.OutOrStdout(), set)
		}),
	}
}

func list(out io.Writer, set scenario.Set) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SCENARIO\tUSERS\tTITLE\tPARAMETERS")
	for _, d := range set {
		names := make([]string, len(d.Params))
		for i, p := range d.Params {
			names[i] = fmt.Sprintf("%s=%v", p.Name, p.Default)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.Name, users(d), d.Title, strings.Join(names, " "))
	}
	return w.Flush()
}

func users(d *scenario.Definition) string {
	if d.Resident {
		return fmt.Sprintf("%d stay", d.Users)
	}
	return fmt.Sprintf("%d/s", d.Users)
}

func newShow(with withSet) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show what a scenario does, and its parameters",
		Args:  cobra.ExactArgs(1),
		RunE: with(func(set scenario.Set, cmd *cobra.Command, args []string) error {
			d, err := set.Find(args[0])
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), d)
		}),
	}
}

func show(out io.Writer, d *scenario.Definition) error {
	fmt.Fprintf(out, "%s: %s\n\n%s\n\n", d.Name, d.Title, strings.TrimSpace(d.Doc))
	fmt.Fprintf(out, "Pattern: %s\nUsers: %s\n", d.Group, users(d))
	if len(d.Aliases) > 0 {
		fmt.Fprintf(out, "Also known as: %s\n", strings.Join(d.Aliases, ", "))
	}
	if len(d.Companion) > 0 {
		fmt.Fprintf(out, "Runs beside: %s\n", strings.Join(d.Companion, ", "))
	}
	if len(d.Params) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nParameters (-p NAME=VALUE):")
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, p := range d.Params {
		fmt.Fprintf(w, "  %s\t%v\t%s\t%s\n", p.Name, p.Default, p.Doc, p.Range())
	}
	return w.Flush()
}
