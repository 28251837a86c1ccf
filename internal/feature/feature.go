package feature

// Status says what happens to a use of a feature.
type Status int

// The statuses.
const (
	// Supported features work.
	Supported Status = iota
	// Known features exist in MongoDB and not here: they answer NotImplemented.
	Known
	// Absent features exist in other kinds of MongoDB servers only. They answer as a standalone
	// server does.
	Absent
)

// String returns the word that the documentation uses.
func (s Status) String() string {
	switch s {
	case Supported:
		return "supported"
	case Known:
		return "known"
	default:
		return "absent"
	}
}

// Info describes a feature for documentation and tests.
type Info struct {
	Name   string
	Family string
	Status Status
	// Note says what a user should know beyond the manual; it may be empty.
	Note string
}
