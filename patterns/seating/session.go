package seating

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// Layout is the plan of a house, for example of a theatre.
type Layout struct {
	ID   string `bson:"_id"`
	Name string `bson:"name"`
	// Plan has a string for each row, with an ASCII letter for each seat: the letter names the zone
	// of the seat. A space is an aisle.
	Plan []string `bson:"plan"`
}

// Seat names a place by row and column. Both begin at 0.
type Seat [2]int32

// Session is a show whose seats are sold.
type Session struct {
	ID     string    `bson:"_id"`
	Layout string    `bson:"layout"`
	Name   string    `bson:"name"`
	Start  time.Time `bson:"start"`
	End    time.Time `bson:"end"`
	// Prices has the price of each zone, in the smallest unit of the currency.
	Prices map[string]int64 `bson:"prices"`
	// Plan is a copy of the plan of the layout. AddSession sets Plan and all fields after it.
	Plan []string `bson:"plan"`
	// Seats has 0 for a free seat, 1 for a taken seat, and -1 for an aisle.
	Seats          [][]int32     `bson:"seats"`
	SeatsAvailable int64         `bson:"seatsAvailable"`
	Reservations   []Reservation `bson:"reservations"`
}

// Reservation lists the seats of one hold.
type Reservation struct {
	ID    bson.ObjectID `bson:"_id"`
	Cart  string        `bson:"cart"`
	Seats []Seat        `bson:"seats"`
	Total int64         `bson:"total"`
	// At is the time when the seats were held. At is removed when the seats are sold.
	At   time.Time `bson:"at,omitempty"`
	Sold bool      `bson:"sold,omitempty"`
}

// The values of a place in Session.Seats.
const (
	free  int32 = 0
	taken int32 = 1
	gap   int32 = -1
)

// AddLayout stores a layout. It can be repeated with the same layout. It returns ErrExists if
// another layout has the same ID.
func (s *Seating) AddLayout(ctx context.Context, l Layout) error {
	if _, seats := empty(l.Plan); seats == 0 {
		return fmt.Errorf("%w: no seats", ErrPlan)
	}
	places := 0
	for _, row := range l.Plan {
		for _, zone := range []byte(row) {
			if places++; zone < ' ' || zone > '~' || zone == '.' || zone == '$' {
				return fmt.Errorf("%w: the zone %q", ErrPlan, zone)
			}
		}
	}
	if places > MaxSeats {
		return fmt.Errorf("%w: %d places", ErrPlan, places)
	}
	_, err := s.layouts.InsertOne(ctx, l)
	if !mongo.IsDuplicateKeyError(err) {
		return errs.Wrap(err, "add layout %s", l.ID)
	}
	old, err := carts.ByID[Layout](ctx, errs, s.layouts, l.ID)
	if err == nil && (old.Name != l.Name || !slices.Equal(old.Plan, l.Plan)) {
		err = ErrExists
	}
	return err
}

// AddSession stores a session with the seats of its layout, all free. It can be repeated with the
// same session. It returns ErrExists if another session has the same ID.
func (s *Seating) AddSession(ctx context.Context, session Session) error {
	layout, err := carts.ByID[Layout](ctx, errs, s.layouts, session.Layout)
	if err != nil {
		return err
	}
	session.Plan = layout.Plan
	session.Seats, session.SeatsAvailable = empty(layout.Plan)
	session.Reservations = []Reservation{}
	for _, zone := range strings.Join(layout.Plan, "") {
		if price, ok := session.Prices[string(zone)]; zone != ' ' && (!ok || price < 0) {
			return fmt.Errorf("%w: the price of zone %q is %d", ErrPlan, zone, price)
		}
	}
	_, err = s.sessions.InsertOne(ctx, session)
	if !mongo.IsDuplicateKeyError(err) {
		return errs.Wrap(err, "add session %s", session.ID)
	}
	old, err := s.Session(ctx, session.ID)
	if err == nil && (old.Layout != session.Layout || old.Name != session.Name ||
		!old.Start.Equal(session.Start.Truncate(time.Millisecond))) {
		err = ErrExists
	}
	return err
}

// Session returns a session, or ErrNotFound.
func (s *Seating) Session(ctx context.Context, id string) (*Session, error) {
	return carts.ByID[Session](ctx, errs, s.sessions, id)
}

// empty returns the seats of a plan, all free, and their number.
func empty(plan []string) (seats [][]int32, n int64) {
	seats = make([][]int32, len(plan))
	for r, row := range plan {
		seats[r] = make([]int32, len(row))
		for c := range row {
			if row[c] == ' ' {
				seats[r][c] = gap
			} else {
				n++
			}
		}
	}
	return seats, n
}

// price adds up the prices of seats. It returns ErrTaken for seats that do not exist, and for
// duplicates.
func (s *Session) price(seats []Seat) (total int64, err error) {
	if len(seats) == 0 {
		return 0, fmt.Errorf("%w: none is named", ErrTaken)
	}
	seen := map[Seat]bool{}
	for _, seat := range seats {
		r, c := int(seat[0]), int(seat[1])
		if r < 0 || r >= len(s.Plan) || c < 0 || c >= len(s.Plan[r]) || s.Plan[r][c] == ' ' || seen[seat] {
			return 0, fmt.Errorf("%w: %v", ErrTaken, seat)
		}
		seen[seat] = true
		total += s.Prices[s.Plan[r][c:c+1]]
	}
	return total, nil
}
