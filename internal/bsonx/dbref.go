package bsonx

// IsReferenceField reports whether a name is a field of a DBRef: $ref, $id or $db.
func IsReferenceField(name string) bool { return name == "$ref" || name == "$id" || name == "$db" }
