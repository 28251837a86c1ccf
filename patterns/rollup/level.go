package rollup

import "time"

// Level is a length of time by which events are summed up.
type Level int

// These are the levels of a Rollup.
const (
	Hourly Level = iota
	Daily
	Weekly
	Monthly
	Yearly
)

// levels holds, for each level, the suffix of its collection's name, and the level from which it is
// computed.
var levels = [...]struct {
	name string
	from Level
}{
	Hourly:  {"hourly", events},
	Daily:   {"daily", Hourly},
	Weekly:  {"weekly", Daily},
	Monthly: {"monthly", Daily},
	Yearly:  {"yearly", Monthly},
}

// events stands for the events themselves, below the lowest level.
const events Level = -1

// String returns the name of the level: "hourly".
func (l Level) String() string { return levels[l].name }

// Start returns the start of the hour, day, week, month or year that contains t. Hours are counted
// from the start of the day, so each hour belongs to one day. A day on which the clocks change has
// 23 or 25 hours.
func (r *Rollup) Start(level Level, t time.Time) time.Time {
	y, m, d := t.In(r.cfg.Location).Date()
	day := r.date(y, m, d)
	switch level {
	case Hourly:
		return day.Add(t.Sub(day).Truncate(time.Hour))
	case Weekly:
		since := (day.In(r.cfg.Location).Weekday() - r.cfg.FirstDay + 7) % 7
		return r.date(y, m, d-int(since))
	case Monthly:
		return r.date(y, m, 1)
	case Yearly:
		return r.date(y, time.January, 1)
	default:
		return day
	}
}

// End returns the end of the hour, day, week, month or year that begins at start.
func (r *Rollup) End(level Level, start time.Time) time.Time {
	y, m, d := start.In(r.cfg.Location).Date()
	switch level {
	case Hourly:
		end, day := start.Add(time.Hour), r.date(y, m, d+1)
		if day.Before(end) { // the clocks changed by half an hour
			return day
		}
		return end
	case Weekly:
		return r.date(y, m, d+7)
	case Monthly:
		return r.date(y, m+1, 1)
	case Yearly:
		return r.date(y+1, m, 1)
	default:
		return r.date(y, m, d+1)
	}
}

func (r *Rollup) date(y int, m time.Month, d int) time.Time {
	return time.Date(y, m, d, 0, 0, 0, 0, r.cfg.Location).UTC()
}
