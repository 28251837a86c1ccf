package server

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"
)

// LogHandler writes log records as mongod's JSON lines, which existing log tools can read:
//
//	{"t":{"$date":"2026-01-02T03:04:05.678+00:00"},"s":"I","c":"NETWORK","id":22943,"ctx":"listener",
//	"msg":"…","attr":{…}}
//
// The attributes c, id, ctx and tags become top-level fields. All others are in attr.
type LogHandler struct {
	level slog.Leveler
	attrs []slog.Attr
	mu    *sync.Mutex
	w     io.Writer
}

// NewLogHandler returns a handler that writes one line for each record of at least that level.
func NewLogHandler(w io.Writer, level slog.Leveler) *LogHandler {
	return &LogHandler{level: level, mu: new(sync.Mutex), w: w}
}

// Enabled implements slog.Handler.
func (h *LogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// WithAttrs implements slog.Handler.
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clone := *h
	clone.attrs = append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return &clone
}

// WithGroup implements slog.Handler. mongod's lines have no groups, so the attributes stay in attr.
func (h *LogHandler) WithGroup(string) slog.Handler { return h }

// line is a log line. Its fields are in mongod's order.
type line struct {
	T    map[string]string `json:"t"`
	S    string            `json:"s"`
	C    string            `json:"c"`
	ID   int64             `json:"id"`
	Ctx  string            `json:"ctx"`
	Msg  string            `json:"msg"`
	Attr attributes        `json:"attr,omitempty"`
	Tags []string          `json:"tags,omitempty"` // last: see command.LogBuffer
}

// Handle implements slog.Handler.
func (h *LogHandler) Handle(_ context.Context, r slog.Record) error {
	l := line{
		T:   map[string]string{"$date": r.Time.Format("2006-01-02T15:04:05.000-07:00")},
		S:   severity(r.Level),
		C:   "CONTROL",
		Ctx: "main",
		Msg: r.Message,
	}
	for _, a := range h.attrs {
		l.add(a)
	}
	r.Attrs(func(a slog.Attr) bool {
		l.add(a)
		return true
	})
	b, err := json.Marshal(&l)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err = h.w.Write(append(b, '\n'))
	return err
}

func severity(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "E"
	case level >= slog.LevelWarn:
		return "W"
	case level >= slog.LevelInfo:
		return "I"
	default:
		return "D1"
	}
}

func (l *line) add(a slog.Attr) {
	v := a.Value.Resolve()
	switch {
	case a.Key == "c":
		l.C = v.String()
	case a.Key == "ctx":
		l.Ctx = v.String()
	case a.Key == "id" && v.Kind() == slog.KindInt64:
		l.ID = v.Int64()
	case a.Key == "tags":
		l.Tags = append(l.Tags, v.String())
	default:
		l.Attr = append(l.Attr, slog.Attr{Key: a.Key, Value: v})
	}
}

// attributes keep their order in JSON, unlike a map.
type attributes []slog.Attr

// MarshalJSON implements json.Marshaler.
func (as attributes) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, a := range as {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(a.Key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(plain(a.Value))
		if err != nil {
			if value, err = json.Marshal(a.Value.String()); err != nil {
				return nil, err
			}
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}'), nil
}

// plain converts a duration, a time or an error to the text that the log shows. It returns most
// other values unchanged.
func plain(v slog.Value) any {
	switch v.Kind() {
	case slog.KindDuration:
		return v.Duration().String()
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	case slog.KindGroup:
		return attributes(v.Group())
	default: // other kinds are fine
	}
	if err, ok := v.Any().(error); ok {
		return err.Error()
	}
	return v.Any()
}
