package topic

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Draft is a message that is to be published.
type Draft struct {
	// ID is made up if empty. Of messages with the same ID only the first is published, as long as
	// it is kept.
	ID    string
	Topic string
	Data  any
}

// Message is a message that was published.
type Message struct {
	ID    string         `bson:"_id"`
	Topic string         `bson:"topic"`
	At    time.Time      `bson:"at"`  // when it was published, by the publisher's clock
	Seq   bson.Timestamp `bson:"seq"` // when the server took it: no two messages have the same
	Data  bson.RawValue  `bson:"data"`

	token bson.Raw // of a change stream
}

// Decode reads the data.
func (m *Message) Decode(into any) error {
	if err := m.Data.Unmarshal(into); err != nil {
		return fmt.Errorf("topic: the data of message %s: %w", m.ID, err)
	}
	return nil
}

// Position returns the place of the message.
func (m *Message) Position() Position {
	return Position{place{ID: m.ID, At: m.At, Seq: m.Seq, Token: m.token}}
}

// Position is a place among the messages: behind one of them, or before the first of a time. The
// zero value is the place before all.
type Position struct{ p place }

// place is what a position is made of.
type place struct {
	ID    string         `bson:"id,omitempty"`
	At    time.Time      `bson:"at,omitempty"`
	Seq   bson.Timestamp `bson:"seq,omitempty"`
	Token bson.Raw       `bson:"token,omitempty"`
	// With: the message is behind the place, not before it.
	With bool `bson:"with,omitempty"`
}

// IsZero reports whether it is the place before all messages.
func (p Position) IsZero() bool { return !p.exact() && p.p.At.IsZero() }

// exact reports whether the place is that of a message, or of a change.
func (p Position) exact() bool { return p.p.ID != "" || len(p.p.Token) > 0 }

func (p Position) equal(q Position) bool {
	return p.p.ID == q.p.ID && p.p.With == q.p.With && bytes.Equal(p.p.Token, q.p.Token)
}

// At is when the message of the place was published.
func (p Position) At() time.Time { return p.p.At }

// String returns the position as text of letters, digits, '-' and '_'.
func (p Position) String() string {
	data, err := bson.Marshal(p.p)
	if err != nil {
		panic("topic: a position cannot be written: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// ParsePosition reads what String returned.
func ParsePosition(text string) (Position, error) {
	var p Position
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || bson.Raw(data).Validate() != nil || bson.Unmarshal(data, &p.p) != nil {
		return Position{}, ErrPosition
	}
	return p, nil
}

// OverrunError says between which messages others were overwritten before they were seen.
type OverrunError struct {
	// After is the last message that was seen, Oldest the first that is there.
	After, Oldest Position
}

// Error implements error.
func (e *OverrunError) Error() string {
	return fmt.Sprintf("%v: between %v and %v", ErrOverrun, e.After.At(), e.Oldest.At())
}

// Unwrap makes it an ErrOverrun.
func (e *OverrunError) Unwrap() error { return ErrOverrun }
