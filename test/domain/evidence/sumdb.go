// What the authors of Go's checksum database make of our log (golang.org/x/mod/sumdb): reads a question in JSON, checks
// what we made with their notes and trees, and answers with what they make of the same entries.
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type inclusion struct {
	Index, Size int64
	Hashes      []tlog.Hash
}

type consistency struct {
	From, To int64
	Hashes   []tlog.Hash
}

type question struct {
	Vkey        string
	Note        string
	Jws         []string
	Roots       []tlog.Hash // of the trees of 1, 2, … entries
	Inclusions  []inclusion
	Consistency []consistency
}

type answer struct {
	Text        string
	Verified    int // signatures of the note that hold
	Wrong       []string
	Vkey        string
	Note        string
	Roots       []tlog.Hash
	Inclusions  []inclusion
	Consistency []consistency
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A signature of the type cosignature/v1, which their package leaves to others.
type timestamped struct {
	name string
	key  ed25519.PublicKey
}

func (t timestamped) Name() string { return t.name }

func (t timestamped) KeyHash() uint32 {
	sum := sha256.Sum256(append([]byte(t.name+"\n\x04"), t.key...))
	return binary.BigEndian.Uint32(sum[:])
}

func (t timestamped) Verify(msg, sig []byte) bool {
	if len(sig) != 72 {
		return false
	}
	head := fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(sig))
	return ed25519.Verify(t.key, append([]byte(head), msg...), sig[8:])
}

func open(q question, a *answer) {
	plain, err := note.NewVerifier(q.Vkey)
	must(err)
	encoded := q.Vkey[len(plain.Name())+len("+01234567+"):]
	key, err := base64.StdEncoding.DecodeString(encoded)
	must(err)
	opened, err := note.Open([]byte(q.Note), note.VerifierList(plain, timestamped{plain.Name(), key[1:]}))
	must(err)
	a.Text = opened.Text
	a.Verified = len(opened.Sigs)
}

func main() {
	var q question
	must(json.NewDecoder(os.Stdin).Decode(&q))
	a := answer{Wrong: []string{}}
	open(q, &a)

	leaves := []tlog.Hash{}
	stored := []tlog.Hash{}
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found := []tlog.Hash{}
		for _, index := range indexes {
			found = append(found, stored[index])
		}
		return found, nil
	})
	for n, jws := range q.Jws {
		sum := sha256.Sum256([]byte(jws))
		leaf := tlog.RecordHash(append([]byte("tvs/v1/attestation\n"), sum[:]...))
		more, err := tlog.StoredHashesForRecordHash(int64(n), leaf, reader)
		must(err)
		leaves = append(leaves, leaf)
		stored = append(stored, more...)
		root, err := tlog.TreeHash(int64(n+1), reader)
		must(err)
		a.Roots = append(a.Roots, root)
	}

	for _, p := range q.Inclusions {
		if err := tlog.CheckRecord(p.Hashes, p.Size, q.Roots[p.Size-1], p.Index, leaves[p.Index]); err != nil {
			a.Wrong = append(a.Wrong, fmt.Sprintf("inclusion of %d in %d: %v", p.Index, p.Size, err))
		}
		proof, err := tlog.ProveRecord(p.Size, p.Index, reader)
		must(err)
		a.Inclusions = append(a.Inclusions, inclusion{p.Index, p.Size, proof})
	}
	for _, p := range q.Consistency {
		err := tlog.CheckTree(p.Hashes, p.To, q.Roots[p.To-1], p.From, q.Roots[p.From-1])
		if err != nil {
			a.Wrong = append(a.Wrong, fmt.Sprintf("consistency of %d and %d: %v", p.From, p.To, err))
		}
		proof, err := tlog.ProveTree(p.To, p.From, reader)
		must(err)
		a.Consistency = append(a.Consistency, consistency{p.From, p.To, proof})
	}

	skey, vkey, err := note.GenerateKey(rand.Reader, "sumdb.example/log")
	must(err)
	signer, err := note.NewSigner(skey)
	must(err)
	signed, err := note.Sign(&note.Note{Text: a.Text}, signer)
	must(err)
	a.Vkey, a.Note = vkey, string(signed)
	must(json.NewEncoder(os.Stdout).Encode(a))
}
