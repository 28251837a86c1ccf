package seating

import (
	"context"
	"errors"
	"fmt"
)

// maxTurns limits how often an operation starts again because other processes were faster.
const maxTurns = 50

// Best returns n free seats next to each other in a zone, or in any zone if zone is empty. It
// prefers seats near the front and near the middle of their row. Of nearly equal seats it prefers
// those that do not isolate a free seat. Best returns ErrNoneLeft if there are no n free seats next
// to each other.
func (s *Session) Best(n int, zone string) ([]Seat, error) {
	var best []Seat
	least := 0
	for r, row := range s.Seats {
		for c := 0; n > 0 && c+n <= len(row); c++ {
			if !s.fits(r, c, n, zone) {
				continue
			}
			// off is the distance from the middle of the row in half seats, and cost counts
			// quarters of a seat. One row further back costs as much as one seat further to the
			// side.
			off := 2*c + n - len(row)
			cost := 2*(max(off, -off)+2*r) + s.alone(r, c-1, c, n) + s.alone(r, c+n, c, n)
			if best == nil || cost < least {
				least, best = cost, block(r, c, n)
			}
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%w: %d", ErrNoneLeft, n)
	}
	return best, nil
}

func block(r, c, n int) (seats []Seat) {
	for i := range n {
		seats = append(seats, Seat{int32(r), int32(c + i)})
	}
	return seats
}

// fits reports whether the n places from column c on are free seats of the zone.
func (s *Session) fits(r, c, n int, zone string) bool {
	for i := c; i < c+n; i++ {
		if !s.free(r, i) || zone != "" && s.Plan[r][i:i+1] != zone {
			return false
		}
	}
	return true
}

func (s *Session) free(r, c int) bool {
	return c >= 0 && c < len(s.Seats[r]) && s.Seats[r][c] == free
}

// alone returns 1 if the block of n seats would isolate the free seat beside it.
func (s *Session) alone(r, c, from, n int) int {
	left := s.free(r, c-1) && (c-1 < from || c-1 >= from+n)
	right := s.free(r, c+1) && (c+1 < from || c+1 >= from+n)
	if s.free(r, c) && !left && !right {
		return 1
	}
	return 0
}

// HoldBest holds the seats that Best returns.
func (s *Seating) HoldBest(ctx context.Context, cart, session string, n int, zone string) (*Hold, error) {
	for range maxTurns {
		show, err := s.Session(ctx, session)
		if err != nil {
			return nil, err
		}
		seats, err := show.Best(n, zone)
		if err != nil {
			return nil, err
		}
		hold, err := s.hold(ctx, cart, show, seats)
		if !errors.Is(err, ErrTaken) {
			return hold, err
		}
	}
	return nil, ErrTaken
}
