package metamorphic

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/command/argtest"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/torture"
)

var commandCount = flag.Int("metamorphic.commands", 0, "how many commands TestCommands gives; 0 for a few thousand")

const (
	shortCommands = 3000
	commandRound  = 300 // commands per database
	mostFaults    = 12  // faults of different kinds after which the test gives up
)

// TestCommands runs random commands of every name on a database: arguments of every BSON type,
// operators of all languages in every place, sessions, transactions and cursors, over several
// connections. No command may cause an internal error, close its connection, give another answer
// with indexes than without, or exceed its time limit. At the end of each round the collections
// must be valid.
//
//	go test ./internal/metamorphic -run TestCommands -v -metamorphic.commands=1000000 -torture.seed=42 -timeout 0
//
// Each round has a seed of its own, which a failure names:
//
//	go test ./internal/metamorphic -run TestCommands -v -metamorphic.commands=1 -metamorphic.seed=43
func TestCommands(t *testing.T) {
	over := strictOver
	if *commandCount == 0 && torture.Time(0) == 0 {
		over = lenientOver
		t.Parallel()
	}
	source := newCommandSource(t)
	first := firstSeed(t)
	a := &commandAttack{source: source, over: over, seen: map[string]bool{}}
	begin, told := time.Now(), time.Now()
	for n := uint64(0); a.more(begin) && len(a.seen) < mostFaults; n++ {
		if err := a.round(first + n); err != nil {
			t.Errorf("-metamorphic.seed=%d: %v", first+n, err)
		}
		if time.Since(told) > 15*time.Second {
			told = time.Now()
			t.Logf("%d commands in %v, %d faults", a.tally.commands, time.Since(begin).Round(time.Second), len(a.seen))
		}
	}
	took := time.Since(begin)
	if a.tally.commands > 100_000 {
		a.checkNames(t)
	}
	if a.tally.commands > 500_000 {
		a.checkArguments(t)
	}
	t.Logf("first seed %d: %d commands in %v (%.0f a second), %d of them errors; %d compared with a scan, %d of them answers; %d time limits passed once",
		first, a.tally.commands, took.Round(time.Millisecond), float64(a.tally.commands)/took.Seconds(),
		a.tally.failed, a.tally.compared, a.tally.answered, a.unsteady)
	t.Logf("most processor time beyond a limit: %v by %s", a.tally.slowest, a.tally.slow)
}

// checkNames fails if some command never ran.
func (a *commandAttack) checkNames(t *testing.T) {
	t.Helper()
	for _, d := range commands.Definitions() {
		if d.Status == feature.Supported && !endsServer[d.Name] && a.tally.names[d.Name] == 0 {
			t.Errorf("no round had the command %s", d.Name)
		}
	}
}

// checkArguments fails if some argument was never given.
func (a *commandAttack) checkArguments(t *testing.T) {
	t.Helper()
	for _, arg := range a.source.arguments {
		if name, _, _ := strings.Cut(arg.Base.Name, "/"); !endsServer[name] && a.source.given[arg.String()] == 0 {
			t.Errorf("no round had the argument %s", arg)
		}
	}
}

func newCommandSource(t *testing.T) *commandSource {
	t.Helper()
	arguments, err := argtest.Arguments()
	if err != nil {
		t.Fatal(err)
	}
	s := &commandSource{
		corpus: readCorpus(t), arguments: arguments,
		fitting: fittingValues(arguments), given: map[string]int{},
	}
	s.operators, s.stages = operatorNames()
	return s
}

// commandAttack is the state of TestCommands.
type commandAttack struct {
	source   *commandSource
	over     time.Duration
	tally    commandTally
	seen     map[string]bool
	unsteady int
}

func (a *commandAttack) more(begin time.Time) bool {
	switch {
	case *commandCount > 0:
		return a.tally.commands < *commandCount
	case torture.Time(0) > 0:
		return time.Since(begin) < torture.Time(0)
	}
	return a.tally.commands < max(torture.Part(shortCommands), 1000) && time.Since(begin) < 20*time.Second
}

// round runs the commands of a seed on a new database. It returns a fault of a new kind as an
// error, with the shortened steps that cause the fault.
func (a *commandAttack) round(seed uint64) error {
	g := a.source.newGen(seed)
	w, err := newWorld(a.over, &a.tally)
	if err != nil {
		return err
	}
	defer func() { w.close() }()
	steps := g.begin()
	for i := range steps {
		if f := w.run(steps[i : i+1]); f != nil {
			return f
		}
	}
	begin := len(steps)
	together := seed%4 == 3
	for len(steps) < begin+commandRound {
		before := len(steps)
		for n := 1; n == 1 || together && n <= connections; n++ {
			steps = append(steps, g.next())
			steps[len(steps)-1].together = together
		}
		if f := w.run(steps[before:]); f != nil {
			return a.report(steps, begin, f)
		}
	}
	if f := w.validate(); f != nil {
		return a.report(append(steps, step{cmd: bson.D{{validateAll, 1}}}), begin, f)
	}
	return nil
}

func (a *commandAttack) report(steps []step, begin int, f *fault) error {
	if a.seen[f.kind] {
		return nil
	}
	slow := strings.HasPrefix(f.kind, "slow")
	if again := a.again(steps, f.kind); again == nil {
		if slow {
			a.unsteady++
			return nil
		}
		a.seen[f.kind] = true
		return fmt.Errorf("%w\nof %s\n(it does not happen again)", f, text(steps[len(steps)-1].cmd))
	}
	a.seen[f.kind] = true
	steps = a.shorten(steps, begin, f.kind)
	var out strings.Builder
	for _, s := range steps[begin:] {
		fmt.Fprintf(&out, "\n%d %s", s.conn, text(s.cmd))
	}
	if last := a.again(steps, f.kind); last != nil {
		f = last
	}
	return fmt.Errorf("%w\nafter the collections were made:%s", f, out.String())
}

// again runs the steps on a new database. It returns the first fault of this kind, or nil.
func (a *commandAttack) again(steps []step, kind string) *fault {
	var tally commandTally
	w, err := newWorld(a.over, &tally)
	if err != nil {
		return nil
	}
	defer w.close()
	for len(steps) > 0 {
		n := 1
		for steps[0].together && n < connections && n < len(steps) && steps[n].together {
			n++
		}
		if f := w.run(steps[:n]); f != nil && f.kind == kind {
			return f
		}
		steps = steps[n:]
	}
	return nil
}

// shorten omits steps, and then parts of the last step, as long as the steps still cause a fault of
// this kind.
func (a *commandAttack) shorten(steps []step, begin int, kind string) []step {
	end := time.Now().Add(15 * time.Second)
	for size := (len(steps) - begin) / 2; size > 0; size /= 2 {
		for at := begin; at+size < len(steps) && time.Now().Before(end); {
			fewer := slices.Concat(steps[:at], steps[at+size:])
			if a.again(fewer, kind) != nil {
				steps = fewer
			} else {
				at += size
			}
		}
	}
	last := len(steps) - 1
	for at := 0; at < values(steps[last].cmd)*2 && time.Now().Before(end.Add(10*time.Second)); {
		smaller := slices.Clone(steps)
		cmd, ok := smallerCommand(steps[last].cmd, at)
		ok = ok && (!steps[last].compared || onlyPredicate(steps[last].cmd, cmd))
		smaller[last].cmd = cmd
		if ok && a.again(smaller, kind) != nil {
			steps = smaller
		} else {
			at++
		}
	}
	return steps
}

// onlyPredicate reports whether two commands differ only in their predicate. If a sort or a stage
// is omitted, there may be several right answers.
func onlyPredicate(a, b bson.D) bool {
	rest := func(cmd bson.D) string {
		return text(slices.DeleteFunc(slices.Clone(cmd),
			func(e bson.E) bool { return e.Key == "filter" || e.Key == "query" }))
	}
	return rest(a) == rest(b) && len(a) == len(b)
}

// smallerCommand omits a part of a command: the n-th field or element, or all parts of a value
// except one.
func smallerCommand(cmd bson.D, n int) (out bson.D, ok bool) {
	at := n / 2
	out, _ = rewritten(cmd, &at, func(v any) any {
		switch v := v.(type) {
		case bson.D:
			if n%2 == 0 && len(v) > 1 && &v[0] != &cmd[0] {
				ok = true
				return v[:len(v)-1]
			}
			if n%2 == 1 && len(v) > 1 && &v[0] != &cmd[0] {
				ok = true
				return v[1:]
			}
		case bson.A:
			if n%2 == 0 && len(v) > 0 {
				ok = true
				return v[:len(v)-1]
			}
			if n%2 == 1 && len(v) > 0 {
				ok = true
				return v[1:]
			}
		}
		return v
	}).(bson.D)
	if n < 2*len(cmd) && n%2 == 0 && n/2 > 0 && n/2 < len(cmd) && cmd[n/2].Key != "$db" {
		return slices.Delete(slices.Clone(cmd), n/2, n/2+1), true
	}
	return out, ok
}

// endsServer are the commands that are never run, because no other command could run after them.
var endsServer = map[string]bool{"shutdown": true, "replSetStepDown": true, "logRotate": true}

// tame keeps a command from stopping the test. It adds a time limit, and reverts changes that would
// affect all later commands.
func tame(s *step, g *commandGen) {
	if endsServer[s.cmd[0].Key] {
		s.cmd = bson.D{{"ping", 1}, {"$db", "admin"}}
	}
	switch name := s.cmd[0].Key; name {
	case "configureFailPoint":
		if strings.Contains(text(s.cmd), "closeConnection") || strings.Contains(text(s.cmd), "errorCode") {
			s.cmd = slices.DeleteFunc(s.cmd, func(e bson.E) bool { return e.Key == "data" })
		}
		s.after = bson.D{{name, s.cmd[0].Value}, {"mode", "off"}, {"$db", "admin"}}
	case "fsync":
		s.after = bson.D{{"fsyncUnlock", 1}, {"$db", "admin"}}
	case "getMore":
		return
	}
	limited := false
	for i, e := range s.cmd {
		switch e.Key {
		case "cursor":
			if s.compared {
				s.cmd[i].Value = bson.D{{"batchSize", int32(1000)}}
			}
		case "maxTimeMS", "maxAwaitTimeMS":
			limited = limited || e.Key == "maxTimeMS"
			switch e.Value.(type) {
			case nil, bson.Null, bson.Undefined, int32, int64, float64, bson.Decimal128: // null stands for no limit
				s.cmd[i].Value = 1 + g.Int32N(limitMillis)
			}
		}
	}
	if s.cmd[0].Key == "find" && s.compared {
		s.cmd = append(s.cmd, bson.E{"batchSize", int32(1000)})
	}
	if !limited {
		s.cmd = append(s.cmd, bson.E{"maxTimeMS", int32(limitMillis)})
	}
}
