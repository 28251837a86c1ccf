package pcre

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2"

	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestCompiledSize requires the same size limit as PCRE2 with links of two bytes. For each form,
// first is the smallest count that PCRE2 rejects.
func TestCompiledSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		form  string
		first int
	}{
		{"(aa){3,%d}", 3451},
		{"(aa){%d}", 5461},
		{"(aa){%d,}", 5461},
		{"(?:aa){%d}", 6553},
		{"(?:aa){3,%d}", 3857},
		{"([ab]){%d}", 1599},
		{"(?:a|b){%d}", 5041},
		{"(aa){0,%d}", 3450},
		{"(?:aa){0,%d}", 3856},
		{"(é){%d}", 5958},
		{`(\d){%d}`, 7282},
		{"([é]){%d}", 5958},
		{"((a){10}){%d}", 607},
		{"((a){0,10}){0,%d}", 367},
		{"(?=aa){%d}", 6553},
		{"(?i:a){%d}", 8192},
		{"(.){%d}", 7282},
		{"(a+){%d}", 6553},
		{"(a{2,5}){%d}", 4096},
		{"([a-zé]){%d}", 1599},
		{"(^a){%d}", 5958},
		{`(\w+){%d}`, 6553},
		{"(a?b){1,%d}", 3450},
		{"(?:a(?C1)){%d}", 4681},
		{"(a)(?:(?1)){%d}", 7280},
		{"(a)(?:(?(1)a|b)){%d}", 2979},
		{"(?:(?(DEFINE)a)b){%d}", 3855},
		{"(?(?=a)a|b){%d}", 3121},
		{"(?:(?<=a|bc)b){%d}", 2260},
		{"(?|(a)){%d}", 4096},
		{`(?:\p{L}){%d}`, 7282},
		{"a{%d}", 65536},
		{"[ab]{%d}", 65536},
		{"a{1,%d}", 65536},
	} {
		for count, want := range map[int]mongoerr.Code{tt.first - 1: 0, tt.first: codeInvalidPattern} {
			err := checkPattern(fmt.Sprintf(tt.form, count))
			if mongoerr.CodeOf(err) != want && (want != 0 || err != nil) {
				t.Errorf(tt.form+": %v, want code %d", count, err, want)
			}
		}
	}
}

// checkPattern translates a pattern without compiling it for the engines, because compiling a large
// pattern takes long.
func checkPattern(pattern string) error {
	_, err := translate(pattern, flags{})
	return err
}

func TestLongPattern(t *testing.T) {
	t.Parallel()
	for _, n := range []int{16385, limits.PatternBytes} {
		if re, err := Compile(strings.Repeat("a", n), ""); err != nil {
			t.Errorf("%d characters: %v", n, err)
		} else if ok, err := re.Match([]byte(strings.Repeat("a", n)), nil); err != nil || !ok {
			t.Errorf("%d characters: %v, %v", n, ok, err)
		}
	}
}

// TestLongTextsMatchAlike compares the function for long texts with the function for short texts.
func TestLongTextsMatchAlike(t *testing.T) {
	t.Parallel()
	text := []byte("\nab é\xffb  aXaab\n\nba" + strings.Repeat("xa é", 50) + "\n")
	for _, pattern := range []string{
		"a|b", "(a)(b)?", `\bx|a\b`, "(?m)^.", "a*", "[^a]+", "é", "(?s).", "x*?",
		"(?m)$", `\Aa?`, "q", "(a|ab)(c|bcd)?",
	} {
		re, err := Compile(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		if re.linear == nil || !re.runsLinear(text) {
			continue
		}
		var want, got []string
		collect := func(into *[]string) func(Match) (bool, error) {
			return func(m Match) (bool, error) {
				*into = append(*into, fmt.Sprint(m))
				return true, nil
			}
		}
		if err := re.eachLinear(text, nil, collect(&want)); err != nil {
			t.Fatal(err)
		}
		if err := re.eachLong(text, nil, collect(&got)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v (%v)", pattern, got, want, err)
		}
	}
}

func TestMatchStops(t *testing.T) {
	t.Parallel()
	long := []byte(strings.Repeat("a", 4<<20) + "!")
	for _, tt := range []struct {
		pattern string
		text    []byte
	}{
		{"(.*a){25}$", long},
		{"([ab]*[ac]*)*d", long},
		{`(a+)+\1$`, []byte(strings.Repeat("a", 40) + "!")},
		{`(?=(a|aa)+$)x?`, []byte(strings.Repeat("a", 40) + "!")},
	} {
		re, err := Compile(tt.pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		for name, match := range map[string]func(*interrupt.Running) error{
			"match": func(r *interrupt.Running) error { _, err := re.Match(tt.text, r); return err },
			"find":  func(r *interrupt.Running) error { _, err := re.Find(tt.text, r); return err },
			"all":   func(r *interrupt.Running) error { return re.FindAll(tt.text, r, func(Match) error { return nil }) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			var r interrupt.Running
			r.Set(ctx)
			start := time.Now()
			if err := match(&r); err == nil || ctx.Err() == nil {
				t.Errorf("%s of %s: %v", name, tt.pattern, err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s of %s ended after %v", name, tt.pattern, took)
			}
			cancel()
		}
	}
}

// TestManyMatchesStop finds many short matches with each engine. Each engine must check for
// interruption between matches.
func TestManyMatchesStop(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"a", "[ab]", "a?", "a(?=.)", `(a)\1`} {
		re, err := Compile(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{4 * lookedAtMatches, 100 * lookedAtMatches} {
			op, matches := interrupttest.New(t.Context()), 0
			var r interrupt.Running
			r.Set(op)
			err := re.FindAll([]byte(strings.Repeat("a", size)), &r, func(Match) error {
				if matches++; matches == lookedAtMatches/2 {
					op.EndAfter(0)
				}
				return nil
			})
			if !errors.Is(err, interrupttest.ErrEnded) || matches > 2*lookedAtMatches {
				t.Errorf("%s: %d of %d matches: %v", pattern, matches, size, err)
			}
		}
	}
}

// TestAttempts counts the attempts at a long match. No further attempt may begin after the
// operation was interrupted. Otherwise the last attempt may use the whole time limit.
func TestAttempts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		endsIn int // the attempt during which the operation is interrupted, or 0
		want   []time.Duration
	}{
		{0, []time.Duration{briefTimeout, longTimeout, matchTimeout}},
		{1, []time.Duration{briefTimeout}},
		{2, []time.Duration{briefTimeout, longTimeout}},
		{3, []time.Duration{briefTimeout, longTimeout, matchTimeout}},
	} {
		re, err := Compile(`(a+)+\1$`, "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		var running interrupt.Running
		running.Set(ctx)
		attempts := make(chan time.Duration, 10)
		// Only one goroutine at a time uses count, because the attempts run one after the other.
		count := 0
		_, err = backtrack(re, 1, &running, func(engine *regexp2.Regexp) (bool, error) {
			attempts <- engine.MatchTimeout
			if count++; count == tt.endsIn {
				end()
			}
			if count == 4 {
				t.Error("a fourth attempt")
			}
			return false, errors.New("it took too long")
		})
		if err == nil || (tt.endsIn != 0) != (ctx.Err() != nil) {
			t.Errorf("%d: %v", tt.endsIn, err)
		}
		end()
		for _, want := range tt.want {
			if got := <-attempts; got != want {
				t.Errorf("%d: an attempt of %v, want %v", tt.endsIn, got, want)
			}
		}
		select {
		case got := <-attempts:
			t.Errorf("%d: one more attempt of %v", tt.endsIn, got)
		case <-time.After(10 * time.Millisecond): // the attempt would begin at once
		}
	}
}

// TestEachMatchLooks matches a large text with patterns that do not occur in it. No match takes
// long, but each one must check for interruption, in both engines.
func TestEachMatchLooks(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("word ", lookedAtBytes/5+1))
	ended := interrupttest.EndAfter(t.Context(), 0)
	running := &interrupt.Running{}
	running.Set(ended)
	for _, pattern := range []string{"nosuch", "^nosuch", "no+such", "(?=nosuch)n"} {
		re, err := Compile(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := re.Match(text, running); !errors.Is(err, interrupttest.ErrEnded) {
			t.Errorf("match of %s: %v", pattern, err)
		}
		if _, err := re.Find(text, running); !errors.Is(err, interrupttest.ErrEnded) {
			t.Errorf("search for %s: %v", pattern, err)
		}
	}
}

// TestConversionLooks converts a large text into characters. The conversion must check for
// interruption.
func TestConversionLooks(t *testing.T) {
	t.Parallel()
	op := interrupttest.New(t.Context())
	running := &interrupt.Running{}
	running.Set(op)
	runes, err := runesOf(bytes.Repeat([]byte("aé"), 8*lookInterval), running)
	if err != nil || len(runes) != 16*lookInterval || runes[1] != 'é' {
		t.Fatalf("%d characters: %v", len(runes), err)
	}
	if op.Looks != 16 {
		t.Errorf("%d looks", op.Looks)
	}
}

// TestMatchesAreCounted matches texts of up to a megabyte in operations that may use little memory.
// A long match must count more memory than a short one.
func TestMatchesAreCounted(t *testing.T) {
	t.Parallel()
	const n = 1 << 20
	text := bytes.Repeat([]byte{'a'}, n)
	for _, tt := range []struct {
		pattern string
		length  int
		limit   int64
		want    mongoerr.Code
	}{
		{`(?=b)x`, n, 32 * n, 0},
		{`(?=b)x`, n, 4 * n, mongoerr.ExceededMemoryLimit},
		{`(a*)*\1b`, n, 8 * n, mongoerr.ExceededMemoryLimit},
		{`(.)\1\1\1\1b`, n / 4, 2 * n, 0}, // takes long, but needs little memory
	} {
		text := text[:tt.length]
		re, err := Compile(tt.pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		budget := memory.New(tt.limit)
		var op memory.Operation
		op.Use(budget)
		var running interrupt.Running
		running.Set(context.WithValue(t.Context(), memory.OperationKey(), &op))
		if _, err := re.Match(text, &running); mongoerr.CodeOf(err) != tt.want {
			t.Errorf("%s with %d MiB: %v", tt.pattern, tt.limit>>20, err)
		}
		if _, err := re.Find(text, &running); mongoerr.CodeOf(err) != tt.want {
			t.Errorf("%s is sought with %d MiB: %v", tt.pattern, tt.limit>>20, err)
		}
	}
}
