package identity

import (
	"fmt"
	"strings"
)

// Identity is a name, an address or another value by which a user is known.
type Identity struct {
	Kind, Value string
}

// Kind is a kind of identities.
type Kind struct {
	// Space is the name of the set in which values are unique. Several kinds can share a space. If
	// empty, it is the kind's own name. It must not contain a colon.
	Space string
	// Normalize returns the normal form of a value, or an error if the value is not valid. Two
	// values with the same normal form are the same identity. If nil, a value is its own normal
	// form.
	Normalize func(value string) (string, error)
}

// login is the space of the identities that people type into a login form.
const login = "login"

// DefaultKinds returns the kinds "name", "email", "phone" and "oauth". The first three share a
// space; their normal forms never look alike.
func DefaultKinds() map[string]Kind {
	return map[string]Kind{
		"name":  {Space: login, Normalize: NormalizeName},
		"email": {Space: login, Normalize: NormalizeEmail},
		"phone": {Space: login, Normalize: NormalizePhone},
		"oauth": {Normalize: NormalizeOAuth},
	}
}

// Name returns the identity of a user who has chosen a name.
func Name(name string) Identity { return Identity{Kind: "name", Value: name} }

// Email returns the identity of a user with an e-mail address.
func Email(address string) Identity { return Identity{Kind: "email", Value: address} }

// Phone returns the identity of a user with a phone number.
func Phone(number string) Identity { return Identity{Kind: "phone", Value: number} }

// OAuth returns the identity of a user who has an account of another service. subject is the
// provider's identifier for the user ("sub" in OpenID Connect).
func OAuth(provider, subject string) Identity {
	return Identity{Kind: "oauth", Value: provider + "/" + subject}
}

// NormalizeName returns a name in lower case. It allows up to 64 characters: ASCII letters, digits,
// '.', '_' and '-', of which the first must be a letter. Letters of other alphabets are not
// allowed, because some look like ASCII letters.
func NormalizeName(value string) (string, error) {
	name := strings.ToLower(strings.TrimSpace(value))
	for i, r := range name {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || (r < '0' || r > '9') && !strings.ContainsRune("._-", r)) {
			return "", fmt.Errorf("%w name %q", ErrInvalid, value)
		}
	}
	if name == "" || len(name) > 64 {
		return "", fmt.Errorf("%w name %q", ErrInvalid, value)
	}
	return name, nil
}

// NormalizeEmail ignores the case of letters, also before the @: only a few servers distinguish it.
// It keeps dots, and the part after a plus sign, because only the address's own server knows their
// meaning.
func NormalizeEmail(value string) (string, error) {
	address := strings.ToLower(strings.TrimSpace(value))
	local, domain, ok := strings.Cut(address, "@")
	if !ok || local == "" || domain == "" || len(address) > 254 || strings.ContainsAny(domain, "@") ||
		strings.ContainsAny(address, " \t\r\n\x00<>") {
		return "", fmt.Errorf("%w address %q", ErrInvalid, value)
	}
	return local + "@" + strings.TrimSuffix(domain, "."), nil
}

// NormalizePhone requires a number with its country code and returns it in E.164 form:
// +493012345678.
func NormalizePhone(value string) (string, error) {
	number := strings.NewReplacer(" ", "", "-", "", ".", "", "/", "", "(", "", ")", "", "\u00a0", "").Replace(value)
	if rest, ok := strings.CutPrefix(number, "00"); ok {
		number = "+" + rest
	}
	digits, ok := strings.CutPrefix(number, "+")
	if !ok || len(digits) < 7 || len(digits) > 15 || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return "", fmt.Errorf("%w phone number %q: it should begin with + and the country's code", ErrInvalid, value)
	}
	return number, nil
}

// NormalizeOAuth ignores the case of the provider's name. The subject stays as it is.
func NormalizeOAuth(value string) (string, error) {
	provider, subject, ok := strings.Cut(value, "/")
	if !ok || provider == "" || subject == "" {
		return "", fmt.Errorf("%w account %q: it should be provider/subject", ErrInvalid, value)
	}
	return strings.ToLower(provider) + "/" + subject, nil
}

// key returns the _id of an identity.
func (s *Identities) key(id Identity) (string, error) {
	kind, ok := s.cfg.Kinds[id.Kind]
	if !ok {
		return "", fmt.Errorf("%w kind %q", ErrInvalid, id.Kind)
	}
	if id.Value == "" || len(id.Value) > MaxValue {
		return "", fmt.Errorf("%w %s of %d bytes", ErrInvalid, id.Kind, len(id.Value))
	}
	value := id.Value
	if kind.Normalize != nil {
		var err error
		if value, err = kind.Normalize(value); err != nil {
			return "", err
		}
	}
	if kind.Space == "" {
		kind.Space = id.Kind
	}
	return kind.Space + ":" + value, nil
}
