package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/bson"
)

// scenario is a list of commands that are run on an empty database.
type scenario struct {
	Steps []bson.D
}

// runner runs groups until the number of cases is reached.
type runner struct {
	pair  *pair
	set   settings
	out   io.Writer
	done  int
	diffs int
	// missing counts the features that a server does not support. The key is the error message.
	missing map[string]int
	settled map[string]int
	kinds   map[string]int
}

func newRunner(p *pair, s settings, out io.Writer) *runner {
	return &runner{
		pair: p, set: s, out: out, settled: map[string]int{},
		missing: map[string]int{}, kinds: map[string]int{},
	}
}

func (r *runner) run(ctx context.Context) error {
	fmt.Fprintf(r.out, "seed %d, %d cases\n", r.set.seed, r.set.cases)
	started := time.Now()
	first, last := 0, int(^uint(0)>>1)
	if r.set.group >= 0 {
		first, last = r.set.group, r.set.group
	}
	progress := started
	for g := first; g <= last && r.done < r.set.cases && r.diffs < r.set.maxDiffs; g++ {
		if err := r.runGroup(ctx, g); err != nil {
			return fmt.Errorf("group %d: %w", g, err)
		}
		if time.Since(progress) > 30*time.Second {
			progress = time.Now()
			fmt.Fprintf(r.out, "%d cases, %d differences, %s\n", r.done, r.diffs,
				time.Since(started).Round(time.Second))
		}
	}
	r.summary(time.Since(started))
	if r.diffs > 0 {
		return errDiffer
	}
	return nil
}

// runGroup generates a group and runs it until its first difference.
func (r *runner) runGroup(ctx context.Context, number int) error {
	g := newGenerator(rand.New(rand.NewPCG(r.set.seed, uint64(number))), r.set.scanB, r.set.families)
	s := g.scenario()
	budget := r.set.cases - r.done
	if len(s.Steps) > budget {
		s.Steps = s.Steps[:budget]
	}
	if err := r.pair.reset(ctx); err != nil {
		return err
	}
	for i, cmd := range s.Steps {
		r.done++
		r.kinds[cmd[0].Key]++
		if r.set.verbose {
			fmt.Fprintf(r.out, "%d/%d %s\n", number, i, show(cmd))
		}
		d, err := r.pair.step(ctx, cmd)
		if err != nil {
			return fmt.Errorf("%s: %w", show(cmd), err)
		}
		if d == nil {
			continue
		}
		if m := d.missing(); m != "" {
			r.missing[m]++
			if isWrite(cmd) {
				return nil
			}
			continue
		}
		if k := r.pair.settle(ctx, cmd, d); k != nil {
			r.settled[k.Name]++
			if r.set.verbose {
				fmt.Fprintf(r.out, "settled, %s: %d/%d %s\n  A: %s\n  B: %s\n", k.Name, number, i,
					show(cmd), show(d.A), show(d.B))
			}
			if isWrite(cmd) {
				return nil // the two collections may differ after an explained difference
			}
			continue
		}
		r.diffs++
		fmt.Fprintf(r.out, "\nDIFFERENCE %d: seed %d, group %d, command %d\n", r.diffs, r.set.seed, number, i)
		s.Steps = s.Steps[:i+1]
		if !r.set.whole {
			s, d = shrink(ctx, r.pair, s, d)
		}
		printDifference(r.out, s, d)
		return nil
	}
	return nil
}

func (r *runner) summary(took time.Duration) {
	fmt.Fprintf(r.out, "\n%d cases in %s:", r.done, took.Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(r.kinds)) {
		fmt.Fprintf(r.out, " %s %d", name, r.kinds[name])
	}
	fmt.Fprint(r.out, "\nerror codes:")
	for _, code := range slices.Sorted(maps.Keys(r.pair.refused)) {
		fmt.Fprintf(r.out, " %d ×%d", code, r.pair.refused[code])
	}
	fmt.Fprintln(r.out)
	for _, k := range settlements {
		if n := r.settled[k.Name]; n > 0 {
			fmt.Fprintf(r.out, "settled: %4d × %s: %s\n", n, k.Name, k.Reason)
		}
	}
	for _, message := range slices.Sorted(maps.Keys(r.missing)) {
		fmt.Fprintf(r.out, "missing: %4d × %s\n", r.missing[message], message)
	}
	fmt.Fprintf(r.out, "%d differences\n", r.diffs)
}

// printDifference prints the commands of a scenario and both replies.
func printDifference(out io.Writer, s scenario, d *difference) {
	for _, cmd := range s.Steps {
		fmt.Fprintln(out, show(cmd))
	}
	fmt.Fprintf(out, "  A: %s\n  B: %s\n", show(d.A), show(d.B))
	if d.Message != "" {
		fmt.Fprintf(out, "  (%s)\n", d.Message)
	}
}
