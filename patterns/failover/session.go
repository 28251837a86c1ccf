package failover

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Session is a series of operations of which each sees the effects of the preceding ones, whichever
// members execute them. Do not use it from several goroutines at the same time.
type Session struct {
	session *mongo.Session
}

// token is the content of a session's token: the cluster time and the operation time that the
// session has seen.
type token struct {
	Cluster   bson.Raw        `bson:"cluster,omitempty"`
	Operation *bson.Timestamp `bson:"operation,omitempty"`
}

// Session starts a session, or continues a session of another process or of an earlier request by
// its token. With a nil token it starts a new session.
func (f *Failover) Session(from []byte) (*Session, error) {
	session, err := f.primary.Client().StartSession(options.Session().SetCausalConsistency(true))
	if err != nil {
		return nil, fmt.Errorf("failover: begin a session: %w", err)
	}
	s := &Session{session: session}
	if err := s.advance(from); err != nil {
		s.End(context.Background())
		return nil, fmt.Errorf("failover: go on with a session: %w", err)
	}
	return s, nil
}

func (s *Session) advance(from []byte) error {
	if len(from) == 0 {
		return nil
	}
	var t token
	if err := bson.Unmarshal(from, &t); err != nil {
		return err
	}
	if len(t.Cluster) > 0 {
		if err := s.session.AdvanceClusterTime(t.Cluster); err != nil {
			return err
		}
	}
	if t.Operation == nil {
		return nil
	}
	return s.session.AdvanceOperationTime(t.Operation)
}

// Context returns a context for operations of the session.
func (s *Session) Context(ctx context.Context) context.Context {
	return mongo.NewSessionContext(ctx, s.session)
}

// Token returns a token with which another process can continue the session. The token is not
// secret. But a client that changes it can make the session's reads wait: sign it if it passes
// through the hands of users.
func (s *Session) Token() ([]byte, error) {
	data, err := bson.Marshal(token{Cluster: s.session.ClusterTime(), Operation: s.session.OperationTime()})
	if err != nil {
		return nil, fmt.Errorf("failover: the token of a session: %w", err)
	}
	return data, nil
}

// End ends the session.
func (s *Session) End(ctx context.Context) { s.session.EndSession(ctx) }
