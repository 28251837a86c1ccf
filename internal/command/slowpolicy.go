package command

import (
	"math/rand/v2"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
)

// defaultSlowMillis is the time from which an operation is logged as slow, in milliseconds.
const defaultSlowMillis = 100

// slowPolicy says which operations are logged, beside slowms: the arguments of the command profile.
// It is immutable.
type slowPolicy struct {
	// sampleRate is the share of the slow operations that is logged.
	sampleRate float64
	// filter, where not nil, decides alone: slowms and sampleRate do not count then.
	filter *filter.Filter
	spec   bsonx.Doc
}

// Logs reports whether an operation is logged that took so long and is described by entry.
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
