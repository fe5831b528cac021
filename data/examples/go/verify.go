// Verifies one envelope offline. Go 1.18 or later, nothing to install (tested with Go 1.19).
//
//	go run verify.go envelope.json jwks.json key-history.jose ISSUER YOUR_PARTNER_ID [offline-pack.json]
//
// Prints "valid" and exits 0, or prints the reason: 1 is refused, 2 cannot be decided with these files.
// Of a batch response, each member of "results" is an envelope. Fetch the key files from the service yourself.
// A sixth word, the service's offline pack or a status list, tells whether the answer was withdrawn since.
package main

import (
	"bytes"
	"compress/zlib"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

var undecidable = []string{"NOT_AN_ENVELOPE", "KID_UNKNOWN", "KEY_SET_UNREADABLE", "KEY_HISTORY_UNREADABLE", "FILE_UNREADABLE",
	"STATUS_LIST_UNUSABLE", "STATUS_LIST_STALE"}
var statuses = []string{"VALID", "EXPIRED", "NOT_FOUND", "REVOKED"}
var jsonText = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"(\s*:)?`)
var compactJws = regexp.MustCompile(`^[\w-]+\.[\w-]+\.[\w-]*$`)
var utcTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
var anyTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
var marks = regexp.MustCompile(`(?i)eyJ[\w-]{8}|"(signature|signatureKid|result|verificationId)"\s*:|\\u00[4-7]`)

type object = map[string]any

// refused is a reason. It is thrown inside this file, and VerifyEnvelope returns it as an error.
type refused string

func require(condition bool, reason string) {
	if !condition {
		panic(refused(reason))
	}
}

func isIn(text string, list ...string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}

func has(value object, names ...string) bool {
	for _, name := range names {
		if _, found := value[name]; found {
			return true
		}
	}
	return false
}

// text is the member, or "" when it is no text.
func text(value object, name string) string {
	found, _ := value[name].(string)
	return found
}

func countMembers(value any) int {
	count := 0
	switch value := value.(type) {
	case object:
		count = len(value)
		for _, inner := range value {
			count += countMembers(inner)
		}
	case []any:
		for _, inner := range value {
			count += countMembers(inner)
		}
	}
	return count
}

// readObject: encoding/json keeps the last of two members with one name; then more names are written than were read.
func readObject(data []byte, reason string) object {
	var value object
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	require(utf8.Valid(data) && decoder.Decode(&value) == nil && value != nil, reason)
	_, err := decoder.Token()
	require(err == io.EOF, reason)
	names := 0
	for _, match := range jsonText.FindAllSubmatch(data, -1) {
		if match[1] != nil {
			names++
		}
	}
	require(names == countMembers(value), "JSON_DUPLICATE_MEMBER")
	return value
}

// decode: one text for each signature. Decoders also accept line ends and spare bits.
func decode(part string) []byte {
	data, err := base64.RawURLEncoding.DecodeString(part)
	require(err == nil && base64.RawURLEncoding.EncodeToString(data) == part, "BASE64URL_NOT_CANONICAL")
	return data
}

type token struct {
	header             object
	payload, signature []byte
	signed             string
}

// openJws reads the header, which must not steer anything: RS256 alone, no extensions, no key of its own.
func openJws(jws string) token {
	parts := strings.Split(jws, ".")
	require(len(parts) == 3, "JWS_MALFORMED")
	header := readObject(decode(parts[0]), "JWS_MALFORMED")
	require(text(header, "alg") == "RS256", "HEADER_ALG")
	require(!has(header, "crit", "b64"), "HEADER_CRIT")
	require(!has(header, "jwk", "jku", "x5u", "x5c"), "HEADER_KEY")
	require(!has(header, "typ") || text(header, "typ") != "", "HEADER_TYP")
	require(text(header, "kid") != "", "HEADER_KID")
	return token{header, decode(parts[1]), decode(parts[2]), parts[0] + "." + parts[1]}
}

func verifySignature(token token, jwk object, reason string) {
	n, e := new(big.Int).SetBytes(decode(text(jwk, "n"))), new(big.Int).SetBytes(decode(text(jwk, "e")))
	key := &rsa.PublicKey{N: n, E: int(e.Int64())}
	hash := sha256.Sum256([]byte(token.signed))
	require(rsa.VerifyPKCS1v15(key, crypto.SHA256, hash[:], token.signature) == nil, reason)
}

// vetKey: one secret or weak key in a set, and nothing in the set can be trusted.
func vetKey(jwk object) bool {
	require(text(jwk, "kty") != "", "KEY_SET_KEY_MALFORMED")
	require(!has(jwk, "k", "d", "p", "q", "dp", "dq", "qi", "oth"), "KEY_SET_PRIVATE_KEY")
	if text(jwk, "kty") != "RSA" {
		return false
	}
	require(text(jwk, "kid") != "", "KEY_SET_KID_MISSING")
	require(!has(jwk, "use") || text(jwk, "use") == "sig", "KEY_SET_KEY_MALFORMED")
	require(!has(jwk, "alg") || text(jwk, "alg") == "RS256", "KEY_SET_KEY_MALFORMED")
	n, e := decode(text(jwk, "n")), decode(text(jwk, "e"))
	modulus, exponent := new(big.Int).SetBytes(n), new(big.Int).SetBytes(e)
	require(len(n) > 0 && n[0] != 0 && modulus.Bit(0) == 1, "KEY_SET_KEY_MALFORMED")
	require(modulus.BitLen() >= 2048 && modulus.BitLen() <= 8192, "KEY_SET_MODULUS_SIZE")
	require(len(e) > 0 && len(e) <= 4 && e[0] != 0, "KEY_SET_EXPONENT")
	require(exponent.Bit(0) == 1 && exponent.Int64() > 1 && exponent.Int64() < 1<<31, "KEY_SET_EXPONENT")
	return true
}

func readKeySet(data []byte) map[string]object {
	keys, isList := readObject(data, "KEY_SET_UNREADABLE")["keys"].([]any)
	require(isList, "KEY_SET_UNREADABLE")
	known, kids := map[string]object{}, map[string]bool{}
	for _, one := range keys {
		jwk, _ := one.(object)
		isUsable, kid := vetKey(jwk), text(jwk, "kid")
		require(!kids[kid] || kid == "", "KEY_SET_DUPLICATE_KID")
		kids[kid] = true
		if isUsable {
			known[kid] = object{"jwk": jwk}
		}
	}
	return known
}

// addHistory adds to each key when it was in use, as the history says that a key of the set has signed.
func addHistory(keys map[string]object, data []byte, issuer string) {
	trimmed := strings.TrimSpace(string(data))
	require(compactJws.MatchString(trimmed), "KEY_HISTORY_UNREADABLE")
	opened := openJws(trimmed)
	signer := text(opened.header, "kid")
	require(text(opened.header, "typ") == "key-history+jwt", "KEY_HISTORY_MALFORMED")
	require(keys[signer] != nil, "KEY_HISTORY_NOT_ANCHORED")
	verifySignature(opened, keys[signer]["jwk"].(object), "KEY_HISTORY_SIGNATURE_INVALID")
	history := readObject(opened.payload, "KEY_HISTORY_MALFORMED")
	entries, isList := history["keys"].([]any)
	require(isList, "KEY_HISTORY_MALFORMED")
	require(text(history, "iss") == issuer, "KEY_HISTORY_ISSUER_MISMATCH")
	historic := map[string]object{}
	for _, one := range entries {
		entry, _ := one.(object)
		kid := vetEntry(entry)
		require(historic[kid] == nil, "KEY_SET_DUPLICATE_KID")
		historic[kid] = entry
		jwk := entry["jwk"].(object)
		if known := keys[kid]; known != nil {
			other := known["jwk"].(object)
			require(other["n"] == jwk["n"] && other["e"] == jwk["e"], "KEY_SET_CONFLICT")
		}
		// A key that the set no longer has was taken out for a reason; it comes back only to be refused.
		if keys[kid] != nil || text(entry, "compromisedSince") != "" {
			keys[kid] = entry
		}
	}
	require(historic[signer] != nil, "KEY_HISTORY_KID_UNKNOWN")
	_, at := timeOf(history["iat"], "KEY_HISTORY_MALFORMED")
	require(!isCompromised(historic[signer], at), "KEY_HISTORY_KEY_COMPROMISED")
}

func vetEntry(entry object) string {
	jwk, _ := entry["jwk"].(object)
	require(vetKey(jwk), "KEY_HISTORY_MALFORMED")
	own := map[string]string{"active": "activatedAt", "retired": "retiredAt", "compromised": "compromisedSince"}
	for _, name := range own {
		isTime := entry[name] == nil || utcTime.MatchString(text(entry, name))
		require(has(entry, name) && isTime, "KEY_HISTORY_MALFORMED")
	}
	state := text(entry, "state")
	require(state == "pending" || text(entry, own[state]) != "", "KEY_HISTORY_MALFORMED")
	require(text(entry, "kid") == text(jwk, "kid"), "KEY_HISTORY_MALFORMED")
	return text(jwk, "kid")
}

// timeOf gives UTC to the second, for example 2026-03-01T09:30:00: such texts sort as the times do.
func timeOf(value any, reason string) (int64, string) {
	number, _ := value.(json.Number)
	seconds, err := number.Int64()
	require(err == nil && seconds >= 0 && seconds < 253402300800, reason)
	return seconds, time.Unix(seconds, 0).UTC().Format("2006-01-02T15:04:05")
}

func isCompromised(key object, at string) bool {
	since := text(key, "compromisedSince")
	return since != "" && at >= since[:19]
}

// checkKeyAt: who has a compromised key can sign anything, and no key signs before or after its time.
func checkKeyAt(key object, at string) {
	if !has(key, "state") {
		return // newer than the history
	}
	require(!isCompromised(key, at), "KEY_COMPROMISED")
	activated, retired := text(key, "activatedAt"), text(key, "retiredAt")
	require(activated != "" && at >= activated[:19], "KEY_OUTSIDE_WINDOW")
	require(retired == "" || at <= retired[:19], "KEY_OUTSIDE_WINDOW")
}

func limit(claims object, name string, otherwise float64) float64 {
	if !has(claims, name) {
		return otherwise
	}
	number, _ := claims[name].(json.Number)
	seconds, err := number.Float64()
	require(err == nil, "CLAIM_TYPE")
	return seconds
}

func checkClaims(claims object, issuedAt int64, issuer, audience string) {
	_, isList := claims["aud"].([]any)
	require(!isList, "AUDIENCE_NOT_SINGLE")
	for _, name := range []string{"iss", "aud", "sub"} {
		require(text(claims, name) != "", "CLAIM_TYPE")
	}
	now := float64(time.Now().Unix())
	expires, begins := limit(claims, "exp", now), limit(claims, "nbf", now)
	require(claims["iss"] == issuer, "ISSUER_MISMATCH")
	require(claims["aud"] == audience, "AUDIENCE_MISMATCH")
	require(float64(issuedAt) <= now+60, "ISSUED_IN_FUTURE")
	require(expires > now-60, "TOKEN_EXPIRED")
	require(begins <= now+60, "TOKEN_NOT_YET_VALID")
}

const maxListAge = 7 * 86400

// placeOf is the answer's place in a status list; an empty uri where it names none.
func placeOf(claims object) (int64, string) {
	if !has(claims, "status") {
		return 0, ""
	}
	status, _ := claims["status"].(object)
	place, _ := status["status_list"].(object)
	number, _ := place["idx"].(json.Number)
	idx, err := number.Int64()
	uri := text(place, "uri")
	require(err == nil && idx >= 0 && idx < 1<<53 && uri != "", "CLAIM_TYPE")
	return idx, uri
}

type statusList struct {
	uri    string
	iat    int64
	exp    float64
	bits   int64
	places []byte
}

// openList reads a list with a good signature of a key that was never compromised, unpacked to its bits and no further.
func openList(jws string, keys map[string]object) (list *statusList) {
	defer func() {
		if _, isReason := recover().(refused); isReason {
			list = nil
		}
	}()
	opened := openJws(strings.TrimSpace(jws))
	key := keys[text(opened.header, "kid")]
	isOurs := text(opened.header, "typ") == "statuslist+jwt" && key != nil && text(key, "compromisedSince") == ""
	require(isOurs, "STATUS_LIST_UNUSABLE")
	verifySignature(opened, key["jwk"].(object), "STATUS_LIST_UNUSABLE")
	claims := readObject(opened.payload, "STATUS_LIST_UNUSABLE")
	iat, at := timeOf(claims["iat"], "STATUS_LIST_UNUSABLE")
	checkKeyAt(key, at)
	packed, _ := claims["status_list"].(object)
	number, _ := packed["bits"].(json.Number)
	require(isIn(number.String(), "1", "2", "4", "8"), "STATUS_LIST_UNUSABLE")
	bits, _ := number.Int64()
	reader, err := zlib.NewReader(bytes.NewReader(decode(text(packed, "lst"))))
	require(err == nil, "STATUS_LIST_UNUSABLE")
	most := int64(1<<17) * bits
	places, err := io.ReadAll(io.LimitReader(reader, most+1))
	require(err == nil && int64(len(places)) <= most, "STATUS_LIST_UNUSABLE")
	return &statusList{text(claims, "sub"), iat, limit(claims, "exp", 1e12), bits, places}
}

// valueAt gives the value at a place; -1 where the list has no such place.
func (list *statusList) valueAt(idx int64) int {
	bit := idx * list.bits
	if bit/8 >= int64(len(list.places)) {
		return -1
	}
	return int(list.places[bit/8]) >> (bit % 8) & (1<<list.bits - 1)
}

// checkStatus: what a list cannot tell is not known. That it was not withdrawn, only a list says that counts.
func checkStatus(claims object, issuedAt int64, lists []string, keys map[string]object, issuer string) {
	idx, uri := placeOf(claims)
	var list *statusList
	for _, jws := range lists {
		one := openList(jws, keys)
		if one == nil || one.uri != uri {
			continue
		}
		// Of two lists of one second the one that tells of more counts, whichever was given first.
		if list == nil || one.iat > list.iat || (one.iat == list.iat && one.valueAt(idx) > list.valueAt(idx)) {
			list = one
		}
	}
	now := time.Now().Unix()
	isOurs := list != nil && strings.HasPrefix(uri, issuer+"/v1/inter-agency/status/")
	require(isOurs && list.iat <= now+60, "STATUS_LIST_UNUSABLE")
	require(now-list.iat <= maxListAge && float64(now) < list.exp, "STATUS_LIST_STALE")
	value := list.valueAt(idx)
	require(value >= 0, "STATUS_LIST_UNUSABLE")
	// Only a yes can be withdrawn.
	if value == 0 || claims["result"].(object)["eligible"] != true {
		return
	}
	// What was withdrawn before the answer had been lifted when it was signed.
	require(list.iat >= issuedAt-60, "STATUS_LIST_STALE")
	require(false, "WITHDRAWN_SINCE")
}

// readLists gives the lists of an offline pack, or the one that the file is.
func readLists(data []byte) []string {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return []string{string(data)}
	}
	members, isList := readObject(data, "STATUS_LIST_UNUSABLE")["statusLists"].([]any)
	require(isList, "STATUS_LIST_UNUSABLE")
	lists := []string{}
	for _, member := range members {
		jws, isText := member.(string)
		require(isText, "STATUS_LIST_UNUSABLE")
		lists = append(lists, jws)
	}
	return lists
}

// checkResult: the answer must not contradict itself, or who reads one member of it is misled.
func checkResult(result object) {
	found, isFlag := result["found"].(bool)
	eligible, isOtherFlag := result["eligible"].(bool)
	reasons, isList := result["reasons"].([]any)
	status := text(result, "status")
	require(isFlag && isOtherFlag && isList && isIn(status, statuses...), "RESULT_MALFORMED")
	for _, reason := range reasons {
		_, isText := reason.(string)
		require(isText, "RESULT_MALFORMED")
	}
	require(!eligible || (found && status == "VALID"), "RESULT_MALFORMED")
	isDescribed := result["teacher"] != nil || result["license"] != nil || result["certificate"] != nil
	require(found || (status == "NOT_FOUND" && !isDescribed), "RESULT_MALFORMED")
}

// checkCopy: everything outside the signature is a copy that anybody can change.
func checkCopy(envelope, claims object, kid string, issuedAt int64) {
	require(reflect.DeepEqual(envelope["result"], claims["result"]), "OUTER_RESULT_DIFFERS")
	require(envelope["issuer"] == claims["iss"], "OUTER_ISSUER_DIFFERS")
	require(envelope["audience"] == claims["aud"], "OUTER_AUDIENCE_DIFFERS")
	require(envelope["signatureKid"] == kid, "OUTER_KID_DIFFERS")
	require(envelope["verificationId"] == claims["sub"], "OUTER_VERIFICATION_ID_DIFFERS")
	verifiedAt := text(envelope, "verifiedAt")
	at, err := time.Parse(time.RFC3339, verifiedAt) // reads 9:30 and +25:00 too
	isTime := err == nil && anyTime.MatchString(verifiedAt)
	require(isTime && at.Unix() == issuedAt, "OUTER_VERIFIED_AT_DIFFERS")
}

func readEnvelope(data []byte) (object, string) {
	// A web page or an error answer is no forgery: what has no part of an envelope is not judged as one.
	plain := string(data)
	require(marks.MatchString(strings.ReplaceAll(plain, "\x00", "")), "NOT_AN_ENVELOPE")
	if !strings.ContainsAny(strings.TrimSpace(plain)[:1], `[{"`) {
		return nil, strings.TrimRight(plain, "\r\n")
	}
	envelope := readObject(data, "JSON_MALFORMED")
	for _, name := range []string{"verificationId", "verifiedAt", "issuer", "audience", "signature", "signatureKid"} {
		_, isText := envelope[name].(string)
		require(isText, "ENVELOPE_MALFORMED")
	}
	_, isObject := envelope["result"].(object)
	require(isObject, "ENVELOPE_MALFORMED")
	return envelope, text(envelope, "signature")
}

// VerifyEnvelope gives the signed claims, to decide by, or an error whose text is the reason; lists may be nil.
func VerifyEnvelope(data, jwks, keyHistory, lists []byte, issuer, audience string) (claims object, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			reason, isReason := thrown.(refused)
			if !isReason {
				panic(thrown)
			}
			claims, err = nil, errors.New(string(reason))
		}
	}()
	envelope, jws := readEnvelope(data)
	opened := openJws(jws)
	kid := text(opened.header, "kid")
	require(!isIn(text(opened.header, "typ"), "key-history+jwt", "statuslist+jwt"), "HEADER_TYP")
	keys := readKeySet(jwks)
	addHistory(keys, keyHistory, issuer)
	require(keys[kid] != nil, "KID_UNKNOWN")
	verifySignature(opened, keys[kid]["jwk"].(object), "SIGNATURE_INVALID")
	claims = readObject(opened.payload, "JWS_MALFORMED")
	issuedAt, at := timeOf(claims["iat"], "CLAIM_TYPE")
	checkKeyAt(keys[kid], at)
	result, isObject := claims["result"].(object)
	require(isObject, "CLAIM_MISSING")
	checkClaims(claims, issuedAt, issuer, audience)
	checkResult(result)
	_, uri := placeOf(claims)
	if envelope != nil {
		checkCopy(envelope, claims, kid, issuedAt)
	}
	if lists != nil && uri != "" {
		checkStatus(claims, issuedAt, readLists(lists), keys, issuer)
	}
	return claims, nil
}

func main() {
	var files [4][]byte
	var err error
	for index, name := range append(os.Args[1:4:4], os.Args[6:]...) {
		if files[index], err = os.ReadFile(name); err != nil {
			err = errors.New("FILE_UNREADABLE")
			break
		}
	}
	if err == nil {
		_, err = VerifyEnvelope(files[0], files[1], files[2], files[3], os.Args[4], os.Args[5])
	}
	if err == nil {
		fmt.Println("valid")
		return
	}
	fmt.Println(err)
	if isIn(err.Error(), undecidable...) {
		os.Exit(2)
	}
	os.Exit(1)
}
