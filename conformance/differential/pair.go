package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

const (
	collection     = "c"
	commandTimeout = 30 * time.Second
)

// pair holds the two servers that are compared, each with its own database.
type pair struct {
	a, b  *mongo.Database
	scanB bool

	past    []bson.D      // the commands that both servers got since the databases were dropped
	refused map[int32]int // how many errors of server A had each code
}

// difference holds the normalised replies of both servers to a command.
type difference struct {
	A, B   bson.D
	After  bool // the replies agree, but the collections differ after the command
	Failed bool // both replies report errors
	// Message is the error message of server B, or of server A if server B has none. It is printed
	// but not compared.
	Message string
}

// dialPair connects to both servers.
func dialPair(ctx context.Context, s settings) (*pair, error) {
	a, err := dial(ctx, s.uriA)
	if err != nil {
		return nil, fmt.Errorf("server A: %w", err)
	}
	b, err := dial(ctx, s.uriB)
	if err != nil {
		return nil, fmt.Errorf("server B: %w", err)
	}
	// The databases have different names, because the program can compare a server with itself.
	return &pair{
		a: a.Database("differential_a"), b: b.Database("differential_b"), scanB: s.scanB,
		refused: map[int32]int{},
	}, nil
}

func dial(ctx context.Context, uri string) (*mongo.Client, error) {
	opts := options.Client().ApplyURI(uri).SetRetryReads(false).SetRetryWrites(false).
		SetServerSelectionTimeout(5 * time.Second)
	client, err := mongo.Connect(ctx, opts)
	if err != nil {
		return nil, err
	}
	return client, client.Ping(ctx, nil)
}

func (p *pair) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, db := range []*mongo.Database{p.a, p.b} {
		_ = db.Drop(ctx)
		_ = db.Client().Disconnect(ctx)
	}
}

// reset drops the databases on both servers.
func (p *pair) reset(ctx context.Context) error {
	p.past = nil
	var errB error
	done := make(chan struct{})
	go func() {
		defer close(done)
		errB = p.b.Drop(ctx)
	}()
	errA := p.a.Drop(ctx)
	<-done
	return errors.Join(errA, errB)
}

// play runs a scenario and returns its first difference that no settlement explains, or nil.
func (p *pair) play(ctx context.Context, s scenario) (*difference, error) {
	if err := p.reset(ctx); err != nil {
		return nil, err
	}
	for _, cmd := range s.Steps {
		d, err := p.step(ctx, cmd)
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		if d.missing() == "" && p.settle(ctx, cmd, d) == nil {
			return d, nil
		}
		if isWrite(cmd) {
			return nil, nil // the two collections may differ after an explained difference
		}
	}
	return nil, nil
}

// step sends a command to both servers. It compares the replies and, after a write, the
// collections.
func (p *pair) step(ctx context.Context, cmd bson.D) (*difference, error) {
	if p.scanB && cmd[0].Key == "createIndexes" && cmd[0].Value != otherCollection {
		_, err := send(ctx, p.a, cmd)
		return nil, err
	}
	p.past = append(p.past, cmd)
	d, err := p.compare(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if whole := withoutPart(cmd); whole != nil && isOK(d.A) && isOK(d.B) {
		return p.comparePart(ctx, whole, d)
	}
	if !d.equal(isOrdered(cmd, d)) {
		return d, nil
	}
	target := written(cmd)
	if target == "" {
		return nil, nil
	}
	failed := hasErrors(d.A)
	if failed && target == otherCollection {
		return nil, p.forget(ctx, target) // the content depends on how many documents a server writes in a batch
	}
	d, err = p.compare(ctx, bson.D{{"find", target}})
	if err != nil || d.equal(false) {
		return nil, err
	}
	d.After, d.Failed = true, failed
	return d, nil
}

// rewind restores the state that both servers had before the last command. It can be called
// repeatedly.
func (p *pair) rewind(ctx context.Context) error {
	past := p.past
	if err := p.reset(ctx); err != nil {
		return err
	}
	p.past = past
	for _, cmd := range past[:len(past)-1] {
		if _, err := p.compare(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}

// forget empties a collection on both servers.
func (p *pair) forget(ctx context.Context, name string) error {
	all := bson.A{bson.D{{"q", bson.D{}}, {"limit", int32(0)}}}
	_, err := p.compare(ctx, bson.D{{"delete", name}, {"deletes", all}})
	return err
}

// equal reports whether the replies are equal.
func (d *difference) equal(ordered bool) bool { return equalReply(d.A, d.B, ordered) }

// notImplemented is the error code of a feature that a server recognises but does not support.
const notImplemented = 238

// missing returns the error message of a server that does not support a feature. It returns "" if
// both servers support the command.
func (d *difference) missing() string {
	if errorCode(d.A) != notImplemented && errorCode(d.B) != notImplemented {
		return ""
	}
	return d.Message
}

// compare sends a command to both servers in parallel, and returns their replies.
func (p *pair) compare(ctx context.Context, cmd bson.D) (*difference, error) {
	var d difference
	var messageB string
	var errB error
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.B, messageB, errB = p.ask(ctx, p.b, cmd)
	}()
	var errA error
	d.A, d.Message, errA = p.ask(ctx, p.a, cmd)
	<-done
	if messageB != "" {
		d.Message = messageB
	}
	if hasErrors(d.A) {
		p.refused[errorCode(d.A)+writeErrorCode(d.A)]++
	}
	if errA != nil {
		errA = fmt.Errorf("server A: %w", errA)
	}
	if errB != nil {
		errB = fmt.Errorf("server B: %w", errB)
	}
	return &d, errors.Join(errA, errB)
}

// writeErrorMessage returns the message of the first write error.
func writeErrorMessage(reply bson.D) string {
	list, _ := lookup(reply, "writeErrors").(bson.A)
	if len(list) == 0 {
		return ""
	}
	first, _ := list[0].(bson.D)
	message, _ := lookup(first, "errmsg").(string)
	return message
}

// ask sends one command, reads its cursor to the end and normalises the reply. The returned string
// is the message of an error.
func (p *pair) ask(ctx context.Context, db *mongo.Database, cmd bson.D) (bson.D, string, error) {
	reply, err := send(ctx, db, cmd)
	if err != nil {
		return nil, "", err
	}
	if !isOK(reply) {
		message, _ := lookup(reply, "errmsg").(string)
		return normalise(reply), message, nil
	}
	cursor, isCursor := lookup(reply, "cursor").(bson.D)
	if !isCursor {
		return normalise(reply), writeErrorMessage(reply), nil
	}
	rows, _ := lookup(cursor, "firstBatch").(bson.A)
	namespace, _ := lookup(cursor, "ns").(string)
	_, name, _ := strings.Cut(namespace, ".")
	for id, _ := lookup(cursor, "id").(int64); id != 0; {
		more, err := send(ctx, db, bson.D{{"getMore", id}, {"collection", name}})
		if err != nil {
			return nil, "", err
		}
		if !isOK(more) {
			message, _ := lookup(more, "errmsg").(string)
			return normalise(more), message, nil
		}
		next := lookup(more, "cursor").(bson.D)
		batch, _ := lookup(next, "nextBatch").(bson.A)
		rows = append(rows, batch...)
		id, _ = lookup(next, "id").(int64)
	}
	return bson.D{{"ok", int32(1)}, {"rows", mark(rows)}}, "", nil
}

// send runs one command and returns the raw reply, whether it is a success or a failure. It returns
// an error if there was no reply.
func send(ctx context.Context, db *mongo.Database, cmd bson.D) (bson.D, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	raw, err := db.RunCommand(ctx, cmd).Raw()
	var cmdErr mongo.CommandError
	var writeErr mongo.WriteException
	switch {
	case errors.As(err, &cmdErr) && cmdErr.Raw != nil:
		raw = cmdErr.Raw
	case errors.As(err, &writeErr) && writeErr.Raw != nil:
		raw = writeErr.Raw
	case err != nil:
		return nil, err
	}
	var reply bson.D
	return reply, bson.Unmarshal(raw, &reply)
}
