package eventlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
)

// ErrLine is the error of a line that is not in the common or combined log format.
var ErrLine = errors.New("eventlog: not a line of an access log")

// clf is the layout of times in access logs.
const clf = "02/Jan/2006:15:04:05 -0700"

// maxLine is the largest length of a line in bytes.
const maxLine = 1 << 20

// ParseLine parses a line of an access log of Apache or nginx, in the common or the combined log
// format:
//
//	127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://example.com/start.html" "Mozilla/4.08"
//
// A field "-" stays empty. If the request is not an HTTP request line, for example bytes of a port
// scan, it is stored in Fields under the name "request".
func ParseLine(line string) (*Event, error) {
	p := &parser{rest: strings.ToValidUTF8(strings.TrimRight(line, " \r\n"), "\uFFFD")}
	e := &Event{}
	e.Host = p.word()
	p.word()               // the identity from identd
	e.User = p.until(" [") // a user name may contain spaces
	e.Time = p.time(p.until("] "))
	e.request(p.quoted())
	status, size := p.word(), p.word()
	if p.rest != "" || p.more {
		e.Referrer, e.UserAgent = p.quoted(), p.quoted()
	}
	if n, err := strconv.ParseInt(status, 10, 32); err == nil {
		e.Status = int32(n)
	} else {
		p.failed = p.failed || status != ""
	}
	if n, err := strconv.ParseInt(size, 10, 64); err == nil {
		e.Size = n
	} else {
		p.failed = p.failed || size != ""
	}
	if p.failed || p.rest != "" {
		return nil, ErrLine
	}
	return e, nil
}

// request splits a request line.
func (e *Event) request(line string) {
	parts := strings.Split(line, " ")
	switch {
	case len(parts) == 3 && strings.HasPrefix(parts[2], "HTTP/"):
		e.Method, e.Path, e.Protocol = parts[0], parts[1], parts[2]
	case len(parts) == 2: // HTTP 0.9
		e.Method, e.Path = parts[0], parts[1]
	case line != "":
		e.Fields = map[string]any{"request": line}
	}
}

// parser reads a line from left to right.
type parser struct {
	rest   string
	more   bool // a separator precedes rest
	failed bool
}

// until returns the text before the first occurrence of end; "" for "-".
func (p *parser) until(end string) string {
	word, rest, ok := strings.Cut(p.rest, end)
	if !ok {
		p.failed = true
	}
	p.rest = rest
	return plain(word)
}

// word returns the next word, which may be the last of the line.
func (p *parser) word() string {
	word, rest, more := strings.Cut(p.rest, " ")
	p.rest, p.more = rest, more
	p.failed = p.failed || word == ""
	return plain(word)
}

func (p *parser) time(s string) time.Time {
	t, err := time.Parse(clf, s)
	p.failed = p.failed || err != nil
	return t.UTC()
}

// quoted returns the text between quotes, and skips the space that follows.
func (p *parser) quoted() string {
	if !strings.HasPrefix(p.rest, `"`) {
		p.failed = true
		return ""
	}
	var out []byte
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '"':
			p.rest = strings.TrimPrefix(p.rest[i+1:], " ")
			return plain(strings.ToValidUTF8(string(out), "\uFFFD"))
		case '\\':
			c, n := escaped(p.rest[i:])
			out = append(out, c)
			i += n - 1
		default:
			out = append(out, c)
		}
	}
	p.failed = true
	return ""
}

// escaped reads an escape sequence: \" and \\, control characters such as \n, and \x with two
// digits.
func escaped(s string) (c byte, n int) {
	if len(s) >= 4 && s[1] == 'x' {
		if v, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return byte(v), 4
		}
	}
	if len(s) < 2 {
		return '\\', 1
	}
	if i := strings.IndexByte("nrtvbf", s[1]); i >= 0 {
		return "\n\r\t\v\b\f"[i], 2
	}
	return s[1], 2
}

// plain returns "" for "-".
func plain(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// Parse yields the events of an access log. For a line that is not valid it yields an error with
// the number of the line, and continues. It stops after an error of r.
func Parse(r io.Reader) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		for n := 1; lines.Scan(); n++ {
			if strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			e, err := ParseLine(lines.Text())
			if err != nil {
				err = fmt.Errorf("line %d: %w", n, err)
			}
			if !yield(e, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, fmt.Errorf("eventlog: read a log: %w", err))
		}
	}
}
