package main

import (
	"go.mongodb.org/mongo-driver/v2/bson"
)

// aggWorkload is a query over all orders, as a pipeline and in SQL. Each row of its result has a
// number: the field total of a document, or the second column in SQL. The sum of these numbers must
// be the same on all sides.
type aggWorkload struct {
	Name string `json:"name"`
	What string `json:"what"`
	// Share is the share of the orders that the query has to read.
	Share    float64 `json:"share"`
	pipeline bson.A
	sql      string
	rows     int // the expected number of rows; 0 if it depends on the data's size
}

func stage(name string, arg any) bson.D { return bson.D{{name, arg}} }

var (
	sumTotal = stage("$sum", "$total")
	one      = stage("$sum", 1)
)

var aggWorkloads = []aggWorkload{
	{
		Name: "scan", What: "filter without an index that nothing satisfies: the engine's own scan", Share: 1, rows: 0,
		pipeline: bson.A{stage("$match", bson.D{{"total", stage("$lt", 0)}})},
		sql:      `select id, 0.0::float8 from orders where (doc->>'total')::float8 < 0`,
	},
	{
		Name: groupName, What: "group by one of 1,000 customers: count, sum, average", Share: 1, rows: orderCustomers,
		pipeline: bson.A{stage("$group",
			bson.D{{"_id", "$customer"}, {"n", one}, {"total", sumTotal}, {"avg", stage("$avg", "$total")}})},
		sql: `select doc->'customer', sum((doc->>'total')::float8), count(*), avg((doc->>'total')::float8) from orders group by 1`,
	},
	{
		Name: "filter-group", What: "one of 20 statuses by its index, grouped by customer", Share: 1.0 / orderStatuses,
		pipeline: bson.A{
			stage("$match", bson.D{{"status", orderStatus(7)}}),
			stage("$group", bson.D{{"_id", "$customer"}, {"n", one}, {"total", sumTotal}}),
		},
		sql: `select doc->'customer', sum((doc->>'total')::float8), count(*) from orders where doc->>'status' = 'status07' group by 1`,
	},
	{
		Name: "unwind-group", What: "items taken apart, grouped by one of 200 articles", Share: 1, rows: orderArticles,
		pipeline: bson.A{
			stage("$unwind", "$items"),
			stage("$group", bson.D{{"_id", "$items.sku"}, {"n", one}, {"total", stage("$sum", "$items.qty")}}),
		},
		sql: `select i->>'sku', sum((i->>'qty')::int)::float8, count(*) from orders, jsonb_array_elements(doc->'items') i group by 1`,
	},
	{
		Name: "lookup", What: "each order's customer, of 1,000, looked up; grouped by one of 25 countries", Share: 1, rows: orderCountries,
		pipeline: bson.A{
			stage("$lookup", bson.D{
				{"from", "customers"},
				{"localField", "customer"},
				{"foreignField", "_id"},
				{"as", "c"},
			}),
			stage("$unwind", "$c"),
			stage("$group", bson.D{{"_id", "$c.country"}, {"n", one}, {"total", sumTotal}}),
		},
		sql: `select c.doc->>'country', sum((o.doc->>'total')::float8), count(*) from orders o join customers c on c.id = (o.doc->>'customer')::bigint group by 1`,
	},
	{
		Name: "months", What: "date histogram by month", Share: 1, rows: 24,
		pipeline: bson.A{stage("$group", bson.D{
			{"_id", stage("$dateTrunc", bson.D{{"date", "$created"}, {"unit", "month"}})},
			{"n", one},
			{"total", sumTotal},
		})},
		sql: `select date_trunc('month', (doc->>'created')::timestamp), sum((doc->>'total')::float8), count(*) from orders group by 1`,
	},
	{
		Name: "top-10", What: "the ten largest orders", Share: 1, rows: 10,
		pipeline: bson.A{stage("$sort", bson.D{{"total", -1}, {"_id", 1}}), stage("$limit", 10)},
		sql:      `select id, (doc->>'total')::float8, doc from orders order by 2 desc, 1 limit 10`,
	},
	facetWorkload,
	expressionsWorkload,
	{
		Name: "running-total", What: "running total of each customer by date, of which the largest", Share: 1, rows: 1,
		pipeline: bson.A{
			stage("$setWindowFields", bson.D{
				{"partitionBy", "$customer"},
				{"sortBy", bson.D{{"created", 1}}},
				{"output", stage("running",
					bson.D{{"$sum", "$total"}, {"window", stage("documents", bson.A{"unbounded", "current"})}})},
			}),
			stage("$group", bson.D{{"_id", nil}, {"total", stage("$max", "$running")}}),
		},
		sql: `select 1, max(running) from (select sum((doc->>'total')::float8) over
			(partition by doc->'customer' order by (doc->>'created')::timestamp rows unbounded preceding) running from orders) t`,
	},
}

var facetWorkload = aggWorkload{
	Name: "facet", What: "three at once: orders by status, the five largest, extremes and average", Share: 1, rows: 1,
	pipeline: bson.A{
		stage("$facet", bson.D{
			{"statuses", bson.A{stage("$sortByCount", "$status")}},
			{"largest", bson.A{stage("$sort", bson.D{{"total", -1}, {"_id", 1}}), stage("$limit", 5)}},
			{"all", bson.A{stage("$group", bson.D{
				{"_id", nil},
				{"min", stage("$min", "$total")},
				{"max", stage("$max", "$total")},
				{"avg", stage("$avg", "$total")},
			})}},
		}),
		stage("$set", stage("total", stage("$first", "$all.max"))),
	},
	sql: `select (select jsonb_agg(t) from (select doc->>'status' status, count(*) n from orders group by 1 order by 2 desc) t),
		(select max((doc->>'total')::float8) from orders),
		(select jsonb_agg(t) from (select doc from orders order by (doc->>'total')::float8 desc, id limit 5) t),
		(select row(min((doc->>'total')::float8), avg((doc->>'total')::float8))::text from orders)`,
}

// expressionsWorkload computes ten values per order. Its result has only the largest value of each
// expression, so the answer is small.
var expressionsWorkload = aggWorkload{
	Name: "expressions", What: "ten computed expressions per order, of each the largest", Share: 1, rows: 1,
	pipeline: bson.A{
		stage("$project", bson.D{
			{"a", stage("$multiply", bson.A{"$total", 1.19})},
			{"b", stage("$year", "$created")},
			{"c", stage("$month", "$created")},
			{"d", stage("$size", "$items")},
			{"e", stage("$concat", bson.A{"$address.city", " ", "$address.zip"})},
			{"f", stage("$cond", bson.A{stage("$gte", bson.A{"$total", 1000}), "large", "small"})},
			{"g", stage("$toUpper", "$status")},
			{"h", stage("$strLenCP", "$note")},
			{"i", stage("$mod", bson.A{"$customer", 7})},
			{"j", stage("$round", bson.A{stage("$divide", bson.A{"$total", 3}), 2})},
		}),
		stage("$group", append(bson.D{{"_id", nil}, {"total", stage("$max", "$a")}},
			largest("b", "c", "d", "e", "f", "g", "h", "i", "j")...)),
	},
	sql: `select 1, max((doc->>'total')::float8 * 1.19), max(extract(year from (doc->>'created')::timestamp)), max(extract(month from (doc->>'created')::timestamp)),
		max(jsonb_array_length(doc->'items')), max(concat(doc#>>'{address,city}', ' ', doc#>>'{address,zip}')),
		max(case when (doc->>'total')::float8 >= 1000 then 'large' else 'small' end), max(upper(doc->>'status')), max(length(doc->>'note')),
		max((doc->>'customer')::int % 7), max(round(((doc->>'total')::float8 / 3)::numeric, 2)) from orders`,
}

// largest returns a $max accumulator for each field.
func largest(names ...string) bson.D {
	var d bson.D
	for _, name := range names {
		d = append(d, bson.E{name, stage("$max", "$"+name)})
	}
	return d
}
