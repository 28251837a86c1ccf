package result

// Measured is what the users of a scenario have done, in one process or several.
type Measured struct {
	// RuntimeSeconds is from the beginning of the run to the last end of this scenario's users.
	RuntimeSeconds float64 `json:"runtimeSeconds"`
	// Started … Cut count all users; Latency has those of the iterations that are measured: neither warm-up nor cool-down.
	Started   int64 `json:"started"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	// Cut users were ended by the simulator, because the run was, or its grace; or they were under way when an agent was last heard of.
	Cut int64 `json:"cut,omitempty"`
	// Errors counts failures by kind.
	Errors map[string]int64 `json:"errors,omitempty"`
	// Counts are the scenario's own.
	Counts map[string]int64 `json:"counts,omitempty"`
	// Latency is from the moment at which a user should have started to its end, of those that succeeded.
	Latency *Timing `json:"latency"`
	// Lateness is how much later than intended users started: the generator's own error.
	Lateness *Timing            `json:"lateness"`
	Steps    map[string]*Timing `json:"steps,omitempty"`
	Series   []*Slot            `json:"series"`
}

// Slot is what happened in one iteration's time.
type Slot struct {
	// Started users, Failed ones and Latency count for the slot in which they were to start, Ended for that in which they ended.
	Started int64   `json:"started"`
	Ended   int64   `json:"ended"`
	Failed  int64   `json:"failed"`
	Latency *Timing `json:"latency"`
}

// The digits of the percentiles of a whole run, and of a slot.
const (
	digits     = 3
	slotDigits = 2
)

// NewMeasured returns one that has measured nothing.
func NewMeasured() *Measured {
	return &Measured{
		Errors: map[string]int64{}, Counts: map[string]int64{}, Steps: map[string]*Timing{},
		Latency: NewTiming(digits), Lateness: NewTiming(digits),
	}
}

// Slot returns the slot of a number, after those before it have been made.
func (m *Measured) Slot(i int) *Slot {
	for len(m.Series) <= i {
		m.Series = append(m.Series, &Slot{Latency: NewTiming(slotDigits)})
	}
	return m.Series[i]
}

// Step returns the timing of a step.
func (m *Measured) Step(name string) *Timing {
	t := m.Steps[name]
	if t == nil {
		t = NewTiming(digits)
		m.Steps[name] = t
	}
	return t
}

// Merge adds what another process has measured. What is nil in it counts as empty.
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

// Same says whether two states of a slot are the same: it only ever counts more.
func (s *Slot) Same(o *Slot) bool {
	return s.Started == o.Started && s.Ended == o.Ended && s.Failed == o.Failed && s.Latency.Count() == o.Latency.Count()
}

// Clone returns a copy.
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

// whole returns m with nothing left nil, as what was read from a file can be.
func (m *Measured) whole() Measured {
	out := NewMeasured()
	out.Merge(m)
	return *out
}
