package scenarios

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/seating"
	"github.com/sheafdb/sheaf/sim/scenario"
)

const theaterDocuments = `

  sessions: {_id: "session-3", layout: "theater-3", prices: {A: NumberLong(1000)}, seats: [[0, 1, 1, 0, …], …], seatsAvailable: 2995,
             reservations: [{_id, cart: "cart-12", seats: [[0, 1], [0, 2], …], total: …}], …}
  carts:    {_id: "cart-12", state: "active", total: …, holds: [{_id, session: "session-3", seats: […], total: …}], …}
  receipts: {_id: "cart-12", holds: […], total: …}`

func seatingScenarios() []*scenario.Definition {
	house := func(theaters, rows, seats, sessions int) []scenario.Param {
		return []scenario.Param{
			whole("numberOfTheaters", "how many theaters there are", theaters, 1, 10_000),
			whole("rows", "how many rows a theater has", rows, 1, 200),
			whole("seats", "how many seats a row has", seats, 1, 100),
			whole("numberOfSessions", "how many sessions there are, in all theaters together", sessions, 1, 100_000),
			whole("numberOfTickets", "how many adjacent seats a user wants", 5, 1, 50),
		}
	}
	hold := scenario.Param{
		Name: "holdTime", Doc: "when an abandoned cart expires",
		Default: 5 * time.Second, Min: 0.001, Max: 86400,
	}
	define := func(name, title, doc string, mode theaterMode, params []scenario.Param) *scenario.Definition {
		return &scenario.Definition{
			Name: name, Group: "seating", Users: 1000, Title: title, Doc: doc + theaterDocuments, Params: params,
			Leaves: mode == theaterExpiry,
			New:    func(env scenario.Env) (scenario.Scenario, error) { return newTheater(env, mode) },
		}
	}
	success := define("theater", "Buy seats that nobody else wants",
		`A user holds adjacent seats in a session, all or none, and buys them. The user's number selects the seats, so no two users want the same until the
house is sold out. Later users are refused, and give up.`, theaterSuccess, house(100, 100, 30, 100))
	success.Aliases = []string{"theater_reservation_successful"}
	return []*scenario.Definition{
		success,
		define("theater-failure", "Want seats that others want, too",
			`A user holds random seats in a few small houses, and buys them. If one of them is taken, the user is refused, and gives up, which is not a failure. No
seat may be sold twice or lost.`, theaterFailure, house(10, 20, 20, 10)),
		define("theater-expiry", "Hold seats, and leave",
			`A user holds the best seats of a session, and leaves. The cart expires. One user of 100 looks for expired carts, and frees their seats. In the end all
seats are free again.`, theaterExpiry, append(house(100, 100, 30, 100), hold)),
	}
}

// theaterMode selects the actions of the users of a theater.
type theaterMode int

const (
	theaterSuccess theaterMode = iota
	theaterFailure
	theaterExpiry
)

// theater implements the scenarios of package seating.
type theater struct {
	still
	mode                                      theaterMode
	cfg                                       seating.Config
	seating                                   *seating.Seating
	db                                        *mongo.Database
	env                                       scenario.Env
	theaters, rows, seats, sessions, together int
}

func newTheater(env scenario.Env, mode theaterMode) (scenario.Scenario, error) {
	p := env.Params
	s := &theater{
		mode: mode, cfg: seating.Config{Env: env.Patterns}, db: env.DB, env: env,
		theaters: p.Int("numberOfTheaters"), rows: p.Int("rows"),
		seats: p.Int("seats"), sessions: p.Int("numberOfSessions"),
	}
	s.together = min(p.Int("numberOfTickets"), s.seats)
	if mode == theaterExpiry {
		s.cfg.HoldTime = p.Duration("holdTime")
	}
	var err error
	s.seating, err = seating.New(env.DB, s.cfg)
	return s, err
}

// seatPrice is the price of a seat.
const seatPrice = 1000

func sessionName(i int) string { return fmt.Sprintf("session-%d", i) }

// Setup implements scenario.Scenario.
func (s *theater) Setup(ctx context.Context) error {
	if err := s.seating.EnsureIndexes(ctx); err != nil {
		return err
	}
	plan := make([]string, s.rows)
	for i := range plan {
		plan[i] = strings.Repeat("A", s.seats)
	}
	layout := func(i int) string { return fmt.Sprintf("theater-%d", i%s.theaters) }
	err := fill(ctx, s.db.Collection("layouts"), s.theaters, func(i int) any {
		return seating.Layout{ID: layout(i), Name: layout(i), Plan: plan}
	})
	if err != nil {
		return err
	}
	free := make([][]int32, s.rows)
	for i := range free {
		free[i] = make([]int32, s.seats)
	}
	start := s.env.Patterns.WithDefaults().Now()
	return fill(ctx, s.db.Collection("sessions"), s.sessions, func(i int) any {
		return seating.Session{
			ID: sessionName(i), Layout: layout(i), Name: sessionName(i), Start: start, End: start.Add(2 * time.Hour),
			Prices: map[string]int64{"A": seatPrice},
			Plan:   plan, Seats: free, SeatsAvailable: int64(s.rows * s.seats), Reservations: []seating.Reservation{},
		}
	})
}

// Run implements scenario.Scenario.
func (s *theater) Run(ctx context.Context, u *scenario.User) error {
	id := fmt.Sprintf("cart-%d", u.Number)
	if s.mode == theaterExpiry && u.Number%sweepers == sweepers-1 {
		if err := sweep(ctx, u, s.seating.Repair); err != nil {
			return err
		}
	}
	err := u.Time("hold", func() error { return s.hold(ctx, u, id) })
	switch {
	case anyOf(err, seating.ErrTaken, seating.ErrNoneLeft):
		u.Count("refused", 1)
		if err := s.seating.Cancel(ctx, id); !anyOf(err, seating.ErrNotFound, seating.ErrInactive) {
			return err
		}
		return nil
	case s.mode == theaterExpiry && anyOf(err, seating.ErrInactive): // the cart has expired already
		return nil
	case err != nil:
		return err
	case s.mode == theaterExpiry:
		u.Count("left", 1)
		return nil
	}
	err = u.Time("checkout", func() error {
		_, err := s.seating.Checkout(ctx, id, func(context.Context, *seating.Cart) error { return nil })
		return err
	})
	if err != nil {
		return err
	}
	u.Count("receipts", 1)
	u.Count("seats", int64(s.together))
	return nil
}

// hold holds the seats that a user wants.
func (s *theater) hold(ctx context.Context, u *scenario.User, id string) error {
	var err error
	switch s.mode {
	case theaterSuccess:
		number := int(u.Number)
		block, perRow := number/s.sessions%(s.rows*(s.seats/s.together)), s.seats/s.together
		_, err = s.seating.Hold(ctx, id, sessionName(number%s.sessions),
			s.block(block/perRow, block%perRow*s.together)...)
	case theaterFailure:
		seats := s.block(u.Rand.IntN(s.rows), u.Rand.IntN(s.seats-s.together+1))
		_, err = s.seating.Hold(ctx, id, sessionName(u.Rand.IntN(s.sessions)), seats...)
	case theaterExpiry:
		_, err = s.seating.HoldBest(ctx, id, sessionName(u.Rand.IntN(s.sessions)), s.together, "")
	}
	return err
}

// block returns adjacent seats in a row, beginning with the seat first.
func (s *theater) block(row, first int) []seating.Seat {
	out := make([]seating.Seat, s.together)
	for i := range out {
		out[i] = seating.Seat{int32(row), int32(first + i)}
	}
	return out
}

// Check implements scenario.Scenario.
func (s *theater) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if s.mode == theaterExpiry || unsure(t, 1) > 0 {
		err := settled(ctx, s.env.Patterns, func(ctx context.Context, env patterns.Env) (int64, error) {
			cfg := s.cfg
			cfg.Env = env
			all, err := seating.New(s.db, cfg)
			if err != nil {
				return 0, err
			}
			return all.Repair(ctx)
		})
		if err != nil {
			return nil, err
		}
	}
	out, err := s.seating.Check(ctx)
	if err != nil {
		return nil, err
	}
	var free int64
	if err := patterns.EachOf(ctx, s.db.Collection("sessions"),
		func(session *seating.Session) { free += session.SeatsAvailable }); err != nil {
		return nil, err
	}
	receipts, err := countOf(ctx, s.db.Collection("receipts"), bson.D{})
	if err != nil {
		return nil, err
	}
	sold := int64(s.sessions*s.rows*s.seats) - free
	out = append(out, counted("who has paid has a receipt", "receipts", receipts,
		t.Counts["receipts"], unsure(t, 1))...)
	return append(out, counted("seats are sold or free", "sessions", sold, t.Counts["seats"],
		unsure(t, s.together))...), nil
}
