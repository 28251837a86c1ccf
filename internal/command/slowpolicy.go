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

// slowPolicy holds the settings of the command profile, except slowms, that select the operations
// to log. It is immutable.
type slowPolicy struct {
	// sampleRate is the share of slow operations that are logged, from 0 to 1.
	sampleRate float64
	// filter, if not nil, selects the operations to log. slowms and sampleRate then have no effect.
	filter *filter.Filter
	spec   bsonx.Doc
}

// Logs reports whether to log an operation that took the time took. entry returns its log entry as
// a document, for the filter.
func (p *slowPolicy) Logs(took time.Duration, slowMillis int64, entry func() bsonx.Doc) bool {
	if p.filter != nil {
		ok, err := p.filter.Match(entry())
		return ok && err == nil
	}
	if slowMillis < 0 || took < time.Duration(slowMillis)*time.Millisecond {
		return false
	}
	return p.sampleRate >= 1 || rand.Float64() < p.sampleRate
}
