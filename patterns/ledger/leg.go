package ledger

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// allows returns the condition under which an account can take part in a transfer: the right
// currency, not closed, and within its limits after the change.
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

// reserved returns the field that counts the reservation of a leg, and the reserved amount.
func reserved(leg Leg) (string, Amount) {
	if leg.Amount < 0 {
		return "outgoing", -leg.Amount
	}
	return "incoming", leg.Amount
}

// reserve returns the update that reserves a leg's amount on its account. It matches only once for
// a run, and never for a run that was rolled back.
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

// move returns the update that adds the posted amount to the balance and ends the reservation. It
// matches only once for a run.
func move(run bson.ObjectID, leg Leg) mongo.WriteModel {
	field, amount := reserved(leg)
	mine := bson.D{{"_id", leg.Account}, {"pending", run}}
	return mongo.NewUpdateOneModel().SetFilter(mine).SetUpdate(bson.D{
		{"$inc", bson.D{{"balance", leg.Posted}, {field, -amount}}},
		{"$pull", bson.D{{"pending", run}}},
	})
}

// release returns the update that ends the reservation of a run, if the account has one. It also
// adds the run to the fences, so the run cannot reserve again.
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

// apply returns the update that changes the balance directly, without a reservation. It is for
// transactions, in which all accounts change together.
func apply(leg Leg) mongo.WriteModel {
	return mongo.NewUpdateOneModel().SetFilter(allows(leg)).SetUpdate(bson.D{
		{"$inc", bson.D{{"balance", leg.Posted}}},
	})
}
