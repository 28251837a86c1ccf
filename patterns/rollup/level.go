package rollup

import "time"

// Level is what events are summed up by.
type Level int

// Levels.
const (
	Hourly Level = iota
	Daily
	Weekly
	Monthly
	Yearly
)

// levels has of each level the end of its collection's name, and the level that it is summed up
// from.
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

// events is below the lowest level.
const events Level = -1

// String returns the name of the level: "hourly".
func (l Level) String() string { return levels[l].name }

// Start returns the beginning of the hour, day, week, month or year that t is in. Hours begin with
// the day, so that each is in one day, and days on which clocks change have 23 or 25 of them.
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

// End returns the end of what begins at start.
func (r *Rollup) End(level Level, start time.Time) time.Time {
	y, m, d := start.In(r.cfg.Location).Date()
	switch level {
	case Hourly:
		end, day := start.Add(time.Hour), r.date(y, m, d+1)
		if day.Before(end) { // clocks were changed by half an hour
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
