package command

import (
	"math/rand/v2"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
)

// defaultSlowMillis is the default duration from which an operation is logged as slow, in
// milliseconds.
const defaultSlowMillis = 100

// SlowPolicy holds the settings of the command profile, except slowms, that select the operations
// to log. It is immutable.
type SlowPolicy struct {
	// SampleRate is the share of slow operations that are logged, from 0 to 1.
	SampleRate float64
	// Filter, if not nil, selects the operations to log. slowms and SampleRate then have no effect.
	Filter *filter.Filter
	Spec   bsonx.Doc // the document that Filter was parsed from
}

// Logs reports whether to log an operation that took the time took. entry returns its log entry as
// a document, for the filter.
func (p *SlowPolicy) Logs(took time.Duration, slowMillis int64, entry func() bsonx.Doc) bool {
	if p.Filter != nil {
		ok, err := p.Filter.Match(entry())
		return ok && err == nil
	}
	if slowMillis < 0 || took < time.Duration(slowMillis)*time.Millisecond {
		return false
	}
	return p.SampleRate >= 1 || rand.Float64() < p.SampleRate
}
