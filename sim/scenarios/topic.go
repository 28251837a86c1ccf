package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/topic"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// topicDoc describes the documents of both topic scenarios.
const topicDoc = `

  topics: {_id: "6632…", topic: "topic-0", at: ISODate("…"), seq: Timestamp(…), data: {by: 17, sent: NumberLong(…), text: "…"}}

With form "tail", this is a capped collection that listeners read with tailable cursors. With "stream", it is an ordinary collection that they read with
change streams.`

func topicScenarios() []*scenario.Definition {
	params := []scenario.Param{
		whole("sizeInBytes", "how many bytes of messages are kept, with form tail", 1<<30, 4096, 0),
		whole("payloadSize", "how many bytes of text a message has", 128, 0, 1<<20),
		whole("topics", "how many topics there are", 1, 1, 1000),
		choice("form", "how messages are stored and followed", "tail", "stream"),
	}
	return []*scenario.Definition{
		{
			Name: "topic-publish", Aliases: []string{"publish_to_topics"}, Group: "topic", Users: 1000, Params: params,
			Title: "Publish a message to all listeners",
			Doc:   `A publisher publishes one message to one of the topics: 1 insert.` + topicDoc,
			New: func(env scenario.Env) (scenario.Scenario, error) {
				m, err := newMessages(env)
				return &publishing{m}, err
			},
		},
		{
			Name: "topic-listen", Aliases: []string{"fetch_from_topics"}, Group: "topic", Users: 40, Resident: true,
			Companion: []string{"topic-publish"}, Params: params,
			Title: "Listen to messages during the whole run",
			Doc: `A listener subscribes to one of the topics and receives all later messages. The step "delivered" is the time from publishing a message to its delivery, by
the clocks of the publisher and the listener. A listener that was too slow for the ring gets an error, counts an "overrun", and continues with the oldest
message. At its end it records the received messages for the check: each message once, and none missing.` + topicDoc,
			New: func(env scenario.Env) (scenario.Scenario, error) {
				m, err := newMessages(env)
				return &listening{m}, err
			},
		},
	}
}

// messages is the part that both topic scenarios share.
type messages struct {
	still
	*topic.Topics
	ring, listeners *mongo.Collection
	form            topic.Form
	topics, payload int
	size            int64
}

func newMessages(env scenario.Env) (*messages, error) {
	p := env.Params
	m := &messages{
		ring: env.DB.Collection(topic.DefaultName), listeners: env.DB.Collection("listeners"),
		topics: p.Int("topics"), payload: p.Int("payloadSize"), size: int64(p.Int("sizeInBytes")),
	}
	if p.String("form") == "stream" {
		m.form = topic.ByStream
	}
	var err error
	m.Topics, err = topic.New(env.DB, topic.Config{Env: env.Patterns, Form: m.form, Size: m.size})
	return m, err
}

// Setup implements scenario.Scenario.
func (m *messages) Setup(ctx context.Context) error { return m.EnsureIndexes(ctx) }

// message is the data of a message of a topic. Each publisher publishes one.
type message struct {
	By   int64  `bson:"by"`
	Sent int64  `bson:"sent"` // in nanoseconds since 1970
	Text string `bson:"text"`
}

// publishing implements the scenario topic-publish.
type publishing struct{ *messages }

// Run implements scenario.Scenario.
func (s *publishing) Run(ctx context.Context, u *scenario.User) error {
	m := message{By: u.Number, Text: letters(u.Rand, s.payload)}
	m.Sent = u.Now().UnixNano()
	if err := s.Publish(ctx, nameOfTopic(int(u.Number%int64(s.topics))), m); err != nil {
		return err
	}
	u.Count("published", 1)
	return nil
}

func nameOfTopic(n int) string { return fmt.Sprintf("topic-%d", n) }

// Check implements scenario.Scenario.
func (s *publishing) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Topics.Check(ctx)
	if err != nil {
		return nil, err
	}
	found, err := countOf(ctx, s.ring, bson.D{})
	if err != nil {
		return nil, err
	}
	published := t.Together["published"]
	if found < published && s.form == topic.ByTail {
		full, err := isFull(ctx, s.ring, s.size)
		if err != nil {
			return nil, err
		}
		if full { // a full capped collection has removed its oldest messages
			published = found
		}
	}
	return append(out, counted("a message that was published is there", s.ring.Name(), found,
		published, unsure(t, 1))...), nil
}

// listening implements the scenario topic-listen.
type listening struct{ *messages }

// heard is the record that a listener stores when it ends. First and Last are the publishers of the
// first and the last message it received. From is the set of all publishers of its messages.
type heard struct {
	Listener int64 `bson:"_id"`
	Received int64 `bson:"received"`
	Twice    int64 `bson:"twice"`
	Overruns int64 `bson:"overruns"`
	First    int64 `bson:"first"`
	Last     int64 `bson:"last"`
	From     set   `bson:"from"`
}

// Run implements scenario.Scenario.
func (s *listening) Run(ctx context.Context, u *scenario.User) error {
	h := &heard{Listener: u.Number}
	defer func() { u.Count("received", h.Received) }()
	in := topic.Interest{Topics: []string{nameOfTopic(int(u.Number % int64(s.topics)))}}
	for {
		err := s.listen(ctx, u, in, h)
		switch {
		case ctx.Err() != nil:
			return s.note(context.WithoutCancel(ctx), h)
		case errors.Is(err, topic.ErrOverrun):
			u.Count("overruns", 1)
			h.Overruns++
			in.From = topic.Beginning()
		default:
			return err
		}
	}
}

// listen receives messages until something fails.
func (s *listening) listen(ctx context.Context, u *scenario.User, in topic.Interest, h *heard) error {
	sub, err := s.Subscribe(ctx, in)
	if err != nil {
		return err
	}
	defer sub.Close(ctx)
	for {
		m, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		data := message{}
		if err := m.Decode(&data); err != nil {
			return err
		}
		u.Record("delivered", time.Duration(u.Now().UnixNano()-data.Sent))
		h.hear(data.By)
	}
}

func (h *heard) hear(publisher int64) {
	if h.Received == 0 {
		h.First = publisher
	}
	// After an overrun, the listener continues with the oldest message. It may have received that
	// message before.
	if !h.From.add(publisher) && h.Overruns == 0 {
		h.Twice++
	}
	h.Received++
	h.Last = publisher
}

// note stores the record of a listener.
func (s *listening) note(ctx context.Context, h *heard) error {
	_, err := s.listeners.ReplaceOne(ctx, bson.D{{"_id", h.Listener}}, h, options.Replace().SetUpsert(true))
	if err != nil {
		return fmt.Errorf("note what listener %d has received: %w", h.Listener, err)
	}
	return nil
}

// Check implements scenario.Scenario.
func (s *listening) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Topics.Check(ctx)
	if err != nil || len(out) > 0 { // reading would fail on the messages that are wrong
		return out, err
	}
	places, err := s.places(ctx)
	if err != nil {
		return nil, err
	}
	var total int64
	err = patterns.EachOf(ctx, s.listeners, func(h *heard) {
		total += h.Received
		for _, v := range s.check(h, places[nameOfTopic(int(h.Listener%int64(s.topics)))]) {
			v.Collection, v.ID = s.listeners.Name(), h.Listener
			out = append(out, v)
		}
	})
	if err != nil || t.Failed > 0 { // a listener that failed has stored no record
		return out, err
	}
	return append(out, counted("what was received is noted", s.listeners.Name(), total,
		t.Counts["received"], 0)...), nil
}

// place is the position of a message in its topic.
type place struct {
	index  int64
	second uint32 // the second of the server's timestamp
}

// places returns the places of the stored messages, by topic and publisher.
func (s *listening) places(ctx context.Context) (map[string]map[int64]place, error) {
	order := bson.D{{"$natural", 1}}
	if s.form == topic.ByStream {
		order = bson.D{{"seq", 1}}
	}
	out := map[string]map[int64]place{}
	err := patterns.Each(ctx, s.ring, bson.D{}, func(m *topic.Message) error {
		data := message{}
		if err := m.Decode(&data); err != nil {
			return err
		}
		if out[m.Topic] == nil {
			out[m.Topic] = map[int64]place{}
		}
		out[m.Topic][data.By] = place{int64(len(out[m.Topic])), m.Seq.T}
		return nil
	}, options.Find().SetSort(order))
	return out, err
}

// check returns violations for the messages that a listener has missed between the first and the
// last message that it received.
func (s *listening) check(h *heard, places map[int64]place) (out []patterns.Violation) {
	if h.Twice > 0 {
		out = append(out, patterns.Violation{
			Rule:   "a message is delivered once",
			Detail: fmt.Sprintf("%d were delivered again", h.Twice),
		})
	}
	first, there := places[h.First]
	last, alsoThere := places[h.Last]
	if h.Received == 0 || h.Overruns > 0 || !there || !alsoThere {
		return out // the capped collection no longer has the first or the last message
	}
	missing := 0
	for publisher, p := range places {
		between := first.index < p.index && p.index < last.index
		// A change stream delivers messages in the order of commits. The order of the timestamps
		// may differ from it by a moment.
		if s.form == topic.ByStream {
			between = first.second+1 < p.second && p.second+1 < last.second
		}
		if between && !h.From.has(publisher) {
			missing++
		}
	}
	if missing > 0 {
		detail := fmt.Sprintf("of those between the first and the last of %d that were received, %d are missing", h.Received, missing)
		out = append(out, patterns.Violation{Rule: "no message is left out", Detail: detail})
	}
	return out
}
