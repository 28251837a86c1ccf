package ledger

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// allows is the condition under which an account takes part in a transfer.
func allows(leg Leg) bson.D {
	limit := bson.D{{Key: "$lte", Value: bson.A{bson.D{{Key: "$add", Value: bson.A{"$balance", "$incoming", leg.Amount}}}, "$ceiling"}}}
	if leg.Amount < 0 {
		rest := bson.D{{Key: "$add", Value: bson.A{bson.D{{Key: "$subtract", Value: bson.A{"$balance", "$outgoing"}}}, leg.Amount}}}
		limit = bson.D{{Key: "$gte", Value: bson.A{rest, "$floor"}}}
	}
	return bson.D{
		{Key: "_id", Value: leg.Account},
		{Key: "currency", Value: leg.Currency},
		{Key: "closed", Value: false},
		{Key: "$expr", Value: limit},
	}
}

// reserved is the field that a leg's reservation is counted in, and how much it is.
func reserved(leg Leg) (string, Amount) {
	if leg.Amount < 0 {
		return "outgoing", -leg.Amount
	}
	return "incoming", leg.Amount
}

// reserve reserves what a leg needs, once, and never for a run that was rolled back.
func reserve(run bson.ObjectID, leg Leg) mongo.WriteModel {
	field, amount := reserved(leg)
	free := append(allows(leg),
		bson.E{Key: "pending", Value: bson.D{{Key: "$ne", Value: run}}},
		bson.E{Key: "fences", Value: bson.D{{Key: "$ne", Value: run}}},
		bson.E{Key: fmt.Sprintf("pending.%d", MaxPending-1), Value: bson.D{{Key: "$exists", Value: false}}})
	return mongo.NewUpdateOneModel().SetFilter(free).SetUpdate(bson.D{
		{Key: "$inc", Value: bson.D{{Key: field, Value: amount}}},
		{Key: "$push", Value: bson.D{{Key: "pending", Value: run}}},
	})
}

// move changes the balance by what is posted and ends the reservation, once.
func move(run bson.ObjectID, leg Leg) mongo.WriteModel {
	field, amount := reserved(leg)
	mine := bson.D{{Key: "_id", Value: leg.Account}, {Key: "pending", Value: run}}
	return mongo.NewUpdateOneModel().SetFilter(mine).SetUpdate(bson.D{
		{Key: "$inc", Value: bson.D{{Key: "balance", Value: leg.Posted}, {Key: field, Value: -amount}}},
		{Key: "$pull", Value: bson.D{{Key: "pending", Value: run}}},
	})
}

// release ends the reservation if there is one. There will be none from then on.
func release(run bson.ObjectID, leg Leg) mongo.WriteModel {
	field, amount := reserved(leg)
	open := bson.D{{Key: "_id", Value: leg.Account}, {Key: "fences", Value: bson.D{{Key: "$ne", Value: run}}}}
	less := bson.D{{Key: "$subtract", Value: bson.A{"$" + field, amount}}}
	return mongo.NewUpdateOneModel().SetFilter(open).SetUpdate(mongo.Pipeline{{{Key: "$set", Value: bson.D{
		{Key: field, Value: bson.D{{Key: "$cond", Value: bson.A{
			bson.D{{Key: "$in", Value: bson.A{run, "$pending"}}}, less, "$" + field,
		}}}},
		{Key: "pending", Value: bson.D{{Key: "$filter", Value: bson.D{
			{Key: "input", Value: "$pending"}, {Key: "cond", Value: bson.D{{Key: "$ne", Value: bson.A{"$$this", run}}}},
		}}}},
		{Key: "fences", Value: bson.D{{Key: "$slice", Value: bson.A{
			bson.D{{Key: "$concatArrays", Value: bson.A{"$fences", bson.A{run}}}}, -MaxFences,
		}}}},
	}}}})
}

// apply changes the balance at once. It is for transactions, in which all accounts change together.
func apply(leg Leg) mongo.WriteModel {
	return mongo.NewUpdateOneModel().SetFilter(allows(leg)).SetUpdate(bson.D{
		{Key: "$inc", Value: bson.D{{Key: "balance", Value: leg.Posted}}},
	})
}
