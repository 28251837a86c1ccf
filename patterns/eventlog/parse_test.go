package eventlog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/patterns/eventlog"
)

func TestParseLine(t *testing.T) {
	t.Parallel()
	at := time.Date(2000, 10, 10, 20, 55, 36, 0, time.UTC)
	const when = "[10/Oct/2000:13:55:36 -0700]"
	for line, want := range map[string]eventlog.Event{
		`127.0.0.1 - frank ` + when + ` "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"`: {
			Host: "127.0.0.1", User: "frank", Method: "GET", Path: "/apache_pb.gif",
			Protocol: "HTTP/1.0", Status: 200, Size: 2326,
			Referrer: "http://example.com/start.html", UserAgent: "Mozilla/4.08 [en] (Win98; I ;Nav)",
		},
		`::1 - - ` + when + ` "POST /a?b=c+d HTTP/2.0" 302 -` +
			"\r\n": {Host: "::1", Method: "POST", Path: "/a?b=c+d", Protocol: "HTTP/2.0", Status: 302},
		`h - a b ` + when + ` "GET /" 200 5 "-" "-"`: {
			Host: "h", User: "a b", Method: "GET",
			Path: "/", Status: 200, Size: 5,
		},
		`h - - ` + when + ` "-" 408 0 "-" "a \"q\" \\ \x41\x4A \t"`: {
			Host: "h", Status: 408,
			UserAgent: "a \"q\" \\ AJ \t",
		},
		`h - - ` + when + ` "\x16\x03\x01" 400 157 "-" "-"`: {
			Host: "h", Status: 400, Size: 157,
			Fields: map[string]any{"request": "\x16\x03\x01"},
		},
		`h - - ` + when + ` "GET /a b c HTTP/1.1" 400 0`: {
			Host: "h", Status: 400,
			Fields: map[string]any{"request": "GET /a b c HTTP/1.1"},
		},
		`h - - ` + when + ` "\xff" 400 0`: {Host: "h", Status: 400, Fields: map[string]any{"request": "\uFFFD"}},
	} {
		want.Time = at
		got, err := eventlog.ParseLine(line)
		if err != nil || fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s: %+v %v", line, got, err)
		}
	}
	for _, line := range []string{
		"", "h", "h - - " + when, `h - - [10/Oct/2000] "GET / HTTP/1.0" 200 1`,
		`h - - ` + when + ` "GET / HTTP/1.0 200 1`,
		`h - - ` + when + ` "GET / HTTP/1.0" x 1`, `h - - ` + when + ` "GET / HTTP/1.0" 200 1 "a"`,
		`h - - ` + when + ` "GET / HTTP/1.0" 200 1 "a" "b" c`,
		`h - - ` + when + ` "GET / HTTP/1.0" 200 99999999999999999999`,
	} {
		if got, err := eventlog.ParseLine(line); !errors.Is(err, eventlog.ErrLine) {
			t.Errorf("%s: %+v %v", line, got, err)
		}
	}
}

func TestParseTooLong(t *testing.T) {
	t.Parallel()
	var last error
	n := 0
	for _, err := range eventlog.Parse(strings.NewReader("x\n\n" + strings.Repeat("a", 2<<20))) {
		last = err
		n++
	}
	if n != 2 || last == nil || errors.Is(last, eventlog.ErrLine) {
		t.Errorf("%d: %v", n, last)
	}
}

// FuzzParseLine checks that any line is parsed or refused, and that a parsed event can be stored.
func FuzzParseLine(f *testing.F) {
	f.Add(`127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326 "http://\"e" "M\x41"`)
	f.Add(`h - - [10/Oct/2000:13:55:36 -0700] "\` + "\xff" + `" 200 -`)
	f.Fuzz(func(t *testing.T, line string) {
		e, err := eventlog.ParseLine(line)
		if (e == nil) != (err != nil) {
			t.Fatalf("%v %v", e, err)
		}
		if e == nil {
			return
		}
		for _, s := range []string{
			e.Host, e.User, e.Method, e.Path, e.Protocol, e.Referrer, e.UserAgent,
			fmt.Sprint(e.Fields["request"]),
		} {
			if strings.ToValidUTF8(s, "") != s {
				t.Errorf("%q", s)
			}
		}
	})
}
