package ledger

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// allows is the condition under which an account takes part in a transfer.
func allows(leg Leg) bson.D {
	limit := bson.D{{"$lte", bson.A{bson.D{{"$add", bson.A{"$balance", "$incoming", leg.Amount}}}, "$ceiling"}}}
	if leg.Amount < 0 {
		rest := bson.D{{"$add", bson.A{bson.D{{"$subtract", bson.A{"$balance", "$outgoing"}}}, leg.Amount}}}
		limit = bson.D{{"$gte", bson.A{rest, "$floor"}}}
	}
	return bson.D{
		{"_id", leg.Account},
		{"currency", leg.Currency},
		{"closed", false},
		{"$expr", limit},
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
		bson.E{"pending", bson.D{{"$ne", run}}},
		bson.E{"fences", bson.D{{"$ne", run}}},
		bson.E{fmt.Sprintf("pending.%d", MaxPending-1), bson.D{{"$exists", false}}})
	return mongo.NewUpdateOneModel().SetFilter(free).SetUpdate(bson.D{
		{"$inc", bson.D{{field, amount}}},
		{"$push", bson.D{{"pending", run}}},
	})
}

// move changes the balance by what is posted and ends the reservation, once.
func move(run bson.ObjectID, leg Leg) mongo.WriteModel {
	field, amount := reserved(leg)
	mine := bson.D{{"_id", leg.Account}, {"pending", run}}
	return mongo.NewUpdateOneModel().SetFilter(mine).SetUpdate(bson.D{
		{"$inc", bson.D{{"balance", leg.Posted}, {field, -amount}}},
		{"$pull", bson.D{{"pending", run}}},
	})
}

// release ends the reservation if there is one. There will be none from then on.
func release(run bson.ObjectID, leg Leg) mongo.WriteModel {
	field, amount := reserved(leg)
	open := bson.D{{"_id", leg.Account}, {"fences", bson.D{{"$ne", run}}}}
	less := bson.D{{"$subtract", bson.A{"$" + field, amount}}}
	return mongo.NewUpdateOneModel().SetFilter(open).SetUpdate(mongo.Pipeline{{{"$set", bson.D{
		{field, bson.D{{"$cond", bson.A{
			bson.D{{"$in", bson.A{run, "$pending"}}}, less, "$" + field,
		}}}},
		{"pending", bson.D{{"$filter", bson.D{
			{"input", "$pending"}, {"cond", bson.D{{"$ne", bson.A{"$$this", run}}}},
		}}}},
		{"fences", bson.D{{"$slice", bson.A{
			bson.D{{"$concatArrays", bson.A{"$fences", bson.A{run}}}}, -MaxFences,
		}}}},
	}}}})
}

// apply changes the balance at once. It is for transactions, in which all accounts change together.
func apply(leg Leg) mongo.WriteModel {
	return mongo.NewUpdateOneModel().SetFilter(allows(leg)).SetUpdate(bson.D{
		{"$inc", bson.D{{"balance", leg.Posted}}},
	})
}
