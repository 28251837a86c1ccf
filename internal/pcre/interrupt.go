package pcre

import (
	"context"
	"io"
	"regexp/syntax"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

const (
	// matchTimeout limits the time that the backtracking engine may take for one match.
	matchTimeout = time.Second
	// briefTimeout limits the first attempt at a match. Most matches take microseconds. A match
	// that takes longer is started again in another goroutine, so that an interrupted operation can
	// end at once.
	briefTimeout = 20 * time.Millisecond
	// longTimeout limits the second attempt. Only a match that takes even longer is started a third
	// time, with matchTimeout. It may run for that time after its operation was interrupted.
	longTimeout = 200 * time.Millisecond
	// timeoutPeriod is the precision of the engine's timeouts.
	timeoutPeriod = 10 * time.Millisecond

	// maxUnheard limits the length of a text times the size of a program. Below the limit, the
	// linear engine needs at most about 50 ms and does not check for interruption.
	maxUnheard = 1 << 23
	// lookInterval is the number of characters that are read between two checks for interruption.
	lookInterval = 1 << 10
)

// isLong reports whether the linear engine may need a long time for a text.
func (r *Regexp) isLong(text []byte) bool {
	return len(text) > 1<<16 && len(text)*r.program() > maxUnheard
}

// lookedAtBytes is the smallest length of a text for which each match first checks for
// interruption. Loops over shorter texts already count each match as a step.
const lookedAtBytes = 1 << 12

// look returns an error if the operation was interrupted. It is called before a match that may take
// a while.
func look(text []byte, running *interrupt.Running) error {
	if len(text) < lookedAtBytes {
		return nil
	}
	return running.Err()
}

// programSize returns how many instructions the linear engine needs for a pattern.
func programSize(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// runeReader reads the characters of a text. It stops early if the operation was interrupted.
type runeReader struct {
	text    []byte
	read    int
	count   int
	running *interrupt.Running
	err     error
}

// ReadRune implements io.RuneReader.
func (r *runeReader) ReadRune() (rune, int, error) {
	if r.count++; r.count%lookInterval == 0 {
		r.err = r.running.Err()
	}
	if r.err != nil || r.read >= len(r.text) {
		return 0, 0, io.EOF
	}
	c, size := rune(r.text[r.read]), 1
	if c >= utf8.RuneSelf {
		c, size = utf8.DecodeRune(r.text[r.read:])
	}
	r.read += size
	return c, size, nil
}

// setTimeoutPeriod must be called before the first match.
var setTimeoutPeriod = sync.OnceFunc(func() { regexp2.SetTimeoutCheckPeriod(timeoutPeriod) })

func (r *Regexp) newBacktracking(timeout time.Duration) (*regexp2.Regexp, error) {
	setTimeoutPeriod()
	re, err := regexp2.Compile(r.source, regexp2.None)
	if err == nil {
		re.MatchTimeout = timeout
	}
	return re, err
}

// backtrack runs a match with the backtracking engine. Only a timeout can stop this engine, so a
// long match runs in another goroutine. If the operation is interrupted, backtrack returns, and the
// match continues until its timeout.
//
// The engine remembers the positions to which it may go back. This memory grows with each round of
// a loop. If a match of n bytes is started again, backtrack counts this memory.
func backtrack[T any](r *Regexp, n int, running *interrupt.Running, match func(*regexp2.Regexp) (T, error)) (T, error) {
	var none T
	re, err := r.backtracking()
	if err != nil {
		return none, invalid(err.Error())
	}
	if found, err := match(re); err == nil {
		return found, nil
	}
	ctx := running.Context()
	if r.deep {
		if err := count(n*(runeBytes+stackBytes), running); err != nil {
			return none, err
		}
	}
	slow, err := r.newBacktracking(longTimeout)
	if err != nil {
		return none, invalid(err.Error())
	}
	type outcome struct {
		found T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		found, err := retried(ctx, slow, match)
		done <- outcome{found, err}
	}()
	select {
	case out := <-done:
		if out.err == nil {
			return out.found, nil
		}
		if err := running.Err(); err != nil {
			return none, err
		}
		return none, matchFailed()
	case <-ctx.Done():
		return none, running.Err()
	}
}

// retried runs a match with longTimeout. If the operation was not interrupted, it tries again with
// matchTimeout.
func retried[T any](ctx context.Context, slow *regexp2.Regexp,
	match func(*regexp2.Regexp) (T, error),
) (found T, err error) {
	for _, limit := range [...]time.Duration{longTimeout, matchTimeout} {
		if ended := ctx.Err(); ended != nil {
			return found, ended
		}
		slow.MatchTimeout = timeLeft(ctx, limit)
		if found, err = match(slow); err == nil {
			break
		}
	}
	return found, err
}

// timeLeft returns how long an attempt may take.
func timeLeft(ctx context.Context, limit time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return limit
	}
	return min(limit, max(deadline.Sub(clock.Computer.Now()), timeoutPeriod))
}
