package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

// errDiffer is the result of the program if the servers differ. The differences have been printed
// already.
var errDiffer = errors.New("the servers differ")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

// settings holds the flags of a run.
type settings struct {
	uriA, uriB string
	cases      int
	seed       uint64
	group      int
	maxDiffs   int
	scanB      bool
	replay     string
	verbose    bool
	whole      bool
	families   families
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var s settings
	flags := flag.NewFlagSet("differential", flag.ContinueOnError)
	flags.StringVar(&s.uriA, "a", "", "URI of the first server")
	flags.StringVar(&s.uriB, "b", "", "URI of the second server")
	flags.IntVar(&s.cases, "n", 20000, "how many cases to run")
	flags.Uint64Var(&s.seed, "seed", 0, "seed of the run; 0 takes one from the time")
	flags.IntVar(&s.group, "group", -1, "run only the group of this number")
	flags.IntVar(&s.maxDiffs, "max", 10, "stop after this many differences")
	flags.BoolVar(&s.scanB, "scan-b", false, "make no indexes on B: indexed plans are compared with collection scans")
	flags.StringVar(&s.replay, "replay", "", "run the commands of this file, one a line in Extended JSON, instead")
	flags.BoolVar(&s.whole, "whole", false, "print differences as they were found, without making them smaller")
	flags.BoolVar(&s.verbose, "v", false, "print every case")
	chosen := flags.String("families", "",
		"generate only these families, separated by commas: "+strings.Join(familyNames(), ", "))
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if s.families, err = parseFamilies(*chosen); err != nil {
		return err
	}
	if s.uriA == "" || s.uriB == "" {
		return errors.New("name two servers: -a URI -b URI")
	}
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	pair, err := dialPair(ctx, s)
	if err != nil {
		return err
	}
	defer pair.close()
	if s.replay != "" {
		return replay(ctx, pair, s.replay, out)
	}
	return newRunner(pair, s, out).run(ctx)
}

// replay runs a file of commands on both servers and prints the replies that differ.
func replay(ctx context.Context, p *pair, path string, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var s scenario
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		cmd, err := parseJSON(lines.Bytes())
		if err != nil {
			return err
		}
		s.Steps = append(s.Steps, cmd)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	d, err := p.play(ctx, s)
	if err != nil {
		return err
	}
	if d == nil {
		fmt.Fprintf(out, "%d commands, no difference\n", len(s.Steps))
		return nil
	}
	printDifference(out, s, d)
	return errDiffer
}
