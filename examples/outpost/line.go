package main

import (
	"context"
	"errors"
	"net"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// line is a network connection to a deployment. Its method cut interrupts the connection, and mend
// restores it.
type line struct {
	dialer options.ContextDialer

	mu    sync.Mutex
	isCut bool
	conns []net.Conn
}

// DialContext implements options.ContextDialer.
func (l *line) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		return nil, errors.New("the line is cut")
	}
	c, err := l.dialer.DialContext(ctx, network, address)
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
	for _, c := range l.conns {
		_ = c.Close() // an error means that the driver has closed it before
	}
	l.conns = nil
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = false
}
