package crud

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// exchange is the argument with which a router distributes the results of an aggregate command over
// several cursors.
var exchange = command.Field{Name: "exchange", Type: command.Object, Strict: true, Fields: []command.Field{
	{Name: "consumers", Type: command.SafeInt, Required: true, Check: checkConsumers},
	{Name: "policy", Type: command.String, Required: true, Check: checkExchangePolicy},
	{Name: "orderPreserving", Type: command.Bool},
	{Name: "bufferSize", Type: command.SafeInt, Check: checkExchangeBuffer},
	{Name: "key", Type: command.Object},
	{Name: "boundaries", Type: command.Array},
	{Name: "consumerIds", Type: command.Array},
}}

func checkConsumers(_ string, v bsonx.Value) error {
	switch n := uint64(spaceIndex(v)); { // MongoDB also shows a negative number as unsigned
	case n == 0:
		return mongoerr.New(mongoerr.Code(50901), "Exchange must have at least one consumer")
	case n > limits.Consumers:
		return mongoerr.New(mongoerr.Code(50950),
			"Specified number of exchange consumers (%d) exceeds the maximum allowable amount (%d).", n, limits.Consumers)
	}
	return nil
}

func checkExchangePolicy(_ string, v bsonx.Value) error {
	switch v.Str() {
	case "broadcast", "roundrobin", "keyRange":
		return nil
	}
	return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field 'aggregate.exchange.policy' is not a valid value.", v.Str())
}

func checkExchangeBuffer(_ string, v bsonx.Value) error {
	if n := uint64(spaceIndex(v)); n > limits.ExchangeBytes {
		return mongoerr.New(mongoerr.Code(50951),
			"Specified exchange buffer size (%d) exceeds the maximum allowable amount (%d).", n, limits.ExchangeBytes)
	}
	return nil
}

// checkExchange returns an error for an exchange with several consumers, because one cursor cannot
// serve them. An exchange with one consumer has no effect.
func checkExchange(r *command.Request, batchSize int64) error {
	doc := r.Doc(exchange.Name)
	switch consumers := bsonx.SaturatingInt64(doc.Lookup("consumers")); {
	case doc == nil:
		return nil
	case doc.Lookup("policy").Str() == "keyRange" && int64(doc.Lookup("boundaries").Doc().Len()) != consumers+1:
		return mongoerr.New(mongoerr.Code(50900), "Exchange boundaries do not match number of consumers.")
	case consumers > 1 && batchSize != 0:
		return mongoerr.New(mongoerr.BadValue, "the exchange initial batch size must be zero")
	case consumers > 1:
		return mongoerr.New(mongoerr.NotImplemented, "an exchange with several consumers is not supported")
	}
	return nil
}
