package topic

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Draft is a message that is not published yet.
type Draft struct {
	// ID is generated if empty. While a message with this ID is kept, further drafts with the same
	// ID are not published.
	ID    string
	Topic string
	Data  any
}

// Message is a published message.
type Message struct {
	ID    string         `bson:"_id"`
	Topic string         `bson:"topic"`
	At    time.Time      `bson:"at"`  // time of publishing, by the publisher's clock
	Seq   bson.Timestamp `bson:"seq"` // timestamp set by the server, unique for each message
	Data  bson.RawValue  `bson:"data"`

	token bson.Raw // resume token of the change stream
}

// Decode decodes the data of the message.
func (m *Message) Decode(into any) error {
	if err := m.Data.Unmarshal(into); err != nil {
		return fmt.Errorf("topic: the data of message %s: %w", m.ID, err)
	}
	return nil
}

// Position returns the position after this message. A subscription that starts there continues with
// the next message.
func (m *Message) Position() Position {
	return Position{place{ID: m.ID, At: m.At, Seq: m.Seq, Token: m.token}}
}

// Position is a place in the order of messages: after a message, or before the first message that
// was published at a given time or later. The zero value is the place before all messages.
type Position struct{ p place }

// place holds the fields of a Position.
type place struct {
	ID    string         `bson:"id,omitempty"`
	At    time.Time      `bson:"at,omitempty"`
	Seq   bson.Timestamp `bson:"seq,omitempty"`
	Token bson.Raw       `bson:"token,omitempty"`
	// With is true if the place is before the message, so that the message is delivered.
	With bool `bson:"with,omitempty"`
}

// IsZero reports whether the position is before all messages.
func (p Position) IsZero() bool { return !p.exact() && p.p.At.IsZero() }

// exact reports whether the position belongs to a message or to a change event, rather than to a
// time.
func (p Position) exact() bool { return p.p.ID != "" || len(p.p.Token) > 0 }

func (p Position) equal(q Position) bool {
	return p.p.ID == q.p.ID && p.p.With == q.p.With && bytes.Equal(p.p.Token, q.p.Token)
}

// At returns the time at which the message of the position was published.
func (p Position) At() time.Time { return p.p.At }

// String encodes the position as a text of letters, digits, '-' and '_'.
func (p Position) String() string {
	data, err := bson.Marshal(p.p)
	if err != nil {
		panic("topic: a position cannot be written: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// ParsePosition parses a text that String returned. It returns ErrPosition for any other text.
func ParsePosition(text string) (Position, error) {
	var p Position
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || bson.Raw(data).Validate() != nil || bson.Unmarshal(data, &p.p) != nil {
		return Position{}, ErrPosition
	}
	return p, nil
}

// OverrunError says where messages were lost: they were overwritten before the subscriber received
// them.
type OverrunError struct {
	// After is the position of the last message that the subscriber received. Oldest is the
	// position of the oldest message that is still stored.
	After, Oldest Position
}

// Error returns a text with the times of the positions After and Oldest.
func (e *OverrunError) Error() string {
	return fmt.Sprintf("%v: between %v and %v", ErrOverrun, e.After.At(), e.Oldest.At())
}

// Unwrap returns ErrOverrun, so that errors.Is recognizes it.
func (e *OverrunError) Unwrap() error { return ErrOverrun }
