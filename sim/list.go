package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/sim/scenario"
)

func newList(with withSet) *cobra.Command {
	return &cobra.Command{
		Use:   "list [GROUP]",
		Short: "List all scenarios, or the scenarios of a pattern",
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

// list writes the scenarios under the names of their patterns.
func list(out io.Writer, set scenario.Set) error {
	width := 0
	groups := map[string]scenario.Set{}
	for _, d := range set {
		width = max(width, utf8.RuneCountInString(d.Name))
		groups[d.Group] = append(groups[d.Group], d)
	}
	var b strings.Builder
	for i, group := range slices.Sorted(maps.Keys(groups)) {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintln(&b, group)
		for _, d := range groups[group] {
			fmt.Fprintf(&b, "  %-*s  %8s  %s\n", width, d.Name, users(d), d.Title)
		}
	}
	b.WriteString("\nsheaf sim show NAME tells more of one and names its parameters; sheaf sim run NAME runs it.\n")
	_, err := io.WriteString(out, b.String())
	return err
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
		Short: "Describe a scenario and its parameters",
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
		fmt.Fprintf(out, "Runs together with: %s\n", strings.Join(d.Companion, ", "))
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
