package result

// Measured holds the measurements of the users of a scenario, in one process or several.
type Measured struct {
	// RuntimeSeconds is the time from the start of the run to the end of the scenario's last user.
	RuntimeSeconds float64 `json:"runtimeSeconds"`
	// The counts from Started to Cut include all users. Latency excludes warm-up and cool-down.
	Started   int64 `json:"started"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	// Cut counts users that the simulator ended, because the run or their grace was over. It also
	// counts users that were active in the last message of a lost agent.
	Cut int64 `json:"cut,omitempty"`
	// Errors counts failures by kind.
	Errors map[string]int64 `json:"errors,omitempty"`
	// Counts holds the scenario's own counters.
	Counts map[string]int64 `json:"counts,omitempty"`
	// Latency is the time from the moment when a user was due to its end. It includes only users
	// that succeeded.
	Latency *Timing `json:"latency"`
	// Lateness is how much later than planned users started: the error of the load generator
	// itself.
	Lateness *Timing            `json:"lateness"`
	Steps    map[string]*Timing `json:"steps,omitempty"`
	Series   []*Slot            `json:"series"`
}

// Slot holds the events during one iteration.
type Slot struct {
	// Started, Failed and Latency count a user in the slot in which the user was due. Ended counts
	// a user in the slot in which the user ended.
	Started int64   `json:"started"`
	Ended   int64   `json:"ended"`
	Failed  int64   `json:"failed"`
	Latency *Timing `json:"latency"`
}

// digits is the number of significant digits of the percentiles of a whole run. slotDigits is their
// number for a slot.
const (
	digits     = 3
	slotDigits = 2
)

// NewMeasured returns an empty Measured.
func NewMeasured() *Measured {
	return &Measured{
		Errors: map[string]int64{}, Counts: map[string]int64{}, Steps: map[string]*Timing{},
		Latency: NewTiming(digits), Lateness: NewTiming(digits),
	}
}

// Slot returns the slot of iteration i. It creates the slot and those before it if they do not
// exist.
func (m *Measured) Slot(i int) *Slot {
	for len(m.Series) <= i {
		m.Series = append(m.Series, &Slot{Latency: NewTiming(slotDigits)})
	}
	return m.Series[i]
}

// Step returns the timing of a step. It creates the timing if it does not exist.
func (m *Measured) Step(name string) *Timing {
	t := m.Steps[name]
	if t == nil {
		t = NewTiming(digits)
		m.Steps[name] = t
	}
	return t
}

// Merge adds the measurements of another process. A nil field counts as empty.
func (m *Measured) Merge(o *Measured) {
	m.RuntimeSeconds = max(m.RuntimeSeconds, o.RuntimeSeconds)
	m.Started += o.Started
	m.Succeeded += o.Succeeded
	m.Failed += o.Failed
	m.Cut += o.Cut
	for name, n := range o.Errors {
		m.Errors[name] += n
	}
	for name, n := range o.Counts {
		m.Counts[name] += n
	}
	m.Latency.Merge(o.Latency)
	m.Lateness.Merge(o.Lateness)
	for name, t := range o.Steps {
		m.Step(name).Merge(t)
	}
	for i, from := range o.Series {
		m.Slot(i).merge(from)
	}
}

// Same reports whether s and o, two states of the same slot, are equal. Comparing the counts is
// enough, because they only grow.
func (s *Slot) Same(o *Slot) bool {
	return s.Started == o.Started && s.Ended == o.Ended && s.Failed == o.Failed &&
		s.Latency.Count() == o.Latency.Count()
}

// Clone returns a deep copy.
func (s *Slot) Clone() *Slot {
	out := &Slot{Latency: NewTiming(slotDigits)}
	out.merge(s)
	return out
}

func (s *Slot) merge(o *Slot) {
	if o == nil {
		return
	}
	s.Started += o.Started
	s.Ended += o.Ended
	s.Failed += o.Failed
	s.Latency.Merge(o.Latency)
}

// whole returns m with empty values in place of nil. A result file can contain nil.
func (m *Measured) whole() Measured {
	out := NewMeasured()
	out.Merge(m)
	return *out
}
