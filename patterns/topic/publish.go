package topic

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Publish publishes a message with one insert.
func (t *Topics) Publish(ctx context.Context, topic string, data any) error {
	_, err := t.PublishAll(ctx, []Draft{{Topic: topic, Data: data}})
	return err
}

// PublishAll publishes messages in their order with one insert, and returns the number of new
// messages. It skips a draft whose ID is already published, which costs one more insert. It
// generates the missing IDs and stores them in drafts. A caller that does not know whether the
// messages were published can therefore call it again with the same drafts.
func (t *Topics) PublishAll(ctx context.Context, drafts []Draft) (published int, err error) {
	messages := make([]*Message, 0, len(drafts))
	for i := range drafts {
		m, err := t.message(&drafts[i])
		if err != nil {
			return 0, err
		}
		messages = append(messages, m)
	}
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	for len(messages) > 0 {
		_, err := t.coll.InsertMany(ctx, messages)
		if err == nil {
			published += len(messages)
			break
		}
		var refused mongo.BulkWriteException
		if !errors.As(err, &refused) || len(refused.WriteErrors) == 0 ||
			!mongo.IsDuplicateKeyError(refused.WriteErrors[0].WriteError) {
			return published, fmt.Errorf("topic: publish %d messages: %w", len(messages), err)
		}
		known := refused.WriteErrors[0].Index
		published += known
		messages = messages[known+1:]
	}
	t.env.Metrics.Add("topic.published", int64(published))
	return published, nil
}

// message makes a message from a draft, and generates the draft's ID if it is empty. The server
// replaces the empty timestamp of the message by its own time.
func (t *Topics) message(d *Draft) (*Message, error) {
	if d.Topic == "" {
		return nil, errors.New("topic: a message has no topic")
	}
	if d.ID == "" {
		d.ID = bson.NewObjectID().Hex()
	}
	m := &Message{ID: d.ID, Topic: d.Topic, At: t.env.Now(), Data: bson.RawValue{Type: bson.TypeNull}}
	if d.Data != nil {
		kind, data, err := bson.MarshalValue(d.Data)
		if err != nil {
			return nil, fmt.Errorf("topic: the data of a message: %w", err)
		}
		m.Data = bson.RawValue{Type: kind, Value: data}
	}
	return m, nil
}
