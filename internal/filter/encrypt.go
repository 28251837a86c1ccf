package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// encryptedSubtype is the binary subtype of values that a client has encrypted.
const encryptedSubtype = 6

// encryptRule is the keyword encrypt: the value must be encrypted by the client. The rule may
// restrict the original type of the value, which the encrypted data contains.
type encryptRule struct {
	set TypeSet
}

func (r *encryptRule) match(v bsonx.Value, st *state) bool {
	return isEncrypted(v) && r.hasType(v)
}

func isEncrypted(v bsonx.Value) bool {
	if v.Type != bsonx.TypeBinary {
		return false
	}
	subtype, _ := v.Binary()
	return subtype == encryptedSubtype
}

// hasType checks the original type in the encrypted data. It follows one byte for the kind of
// encryption and 16 bytes for the key id.
func (r *encryptRule) hasType(v bsonx.Value) bool {
	_, data := v.Binary()
	return r.set.IsEmpty() || len(data) > 17 && r.set.Has(bsonx.Type(data[17]))
}

func (r *encryptRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", "encrypt")
	if isEncrypted(v) {
		b.String("reason", "encrypted value has wrong type")
	} else {
		b.String("reason", "value was not encrypted")
	}
}

func (sp *schemaParser) parseEncrypt(kw keyword) error {
	if kw.value.Type != bsonx.TypeDocument {
		return kw.mismatch("an object ")
	}
	for _, name := range []string{"type", "bsonType"} {
		if !sp.doc.Lookup(name).IsMissing() {
			return kw.invalid("cannot be used in conjunction with '" + name +
				"', 'encrypt' implies type 'bsonType::BinData'")
		}
	}
	for _, name := range []string{"title", "description"} {
		if v := sp.doc.Lookup(name); !v.IsMissing() {
			if err := parseSchemaText(sp, keyword{name, v}); err != nil {
				return err
			}
		}
	}
	rule := &encryptRule{}
	for it := kw.value.Doc().Iter(); it.Next(); {
		switch name := string(it.Key()); name {
		case "bsonType":
			set, err := schemaTypeSet(keyword{name, it.Value()})
			if err != nil {
				return err
			}
			rule.set = set
		case "algorithm", "keyId":
		default:
			return mongoerr.New(mongoerr.IDLUnknownField, "BSON field 'encrypt.%s' is an unknown field.", name)
		}
	}
	if sp.root {
		sp.out.never = true
		return nil
	}
	sp.add(rule)
	return nil
}

// parseSchemaEncryptMetadata checks the syntax of the keyword. It adds no rule, because only
// clients use the metadata.
func parseSchemaEncryptMetadata(_ *schemaParser, kw keyword) error {
	if kw.value.Type != bsonx.TypeDocument {
		return kw.mismatch("an object")
	}
	if kw.value.Doc().IsEmpty() {
		return kw.invalid("cannot be an empty object ")
	}
	return nil
}
