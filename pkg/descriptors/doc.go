// Package descriptors turns rule files into an immutable tree and finds the
// rule that a request's descriptor leads to. It knows neither Envoy nor stores.
//
// Its words, one per thing:
//
//   - domain: the namespace of a set of rules; a file describes one.
//   - descriptor: the ordered entries that a request asks about.
//   - rule: what a file says about the descriptors that lead to it. Not «limit»,
//     which is a rule's number of hits, nor «policy».
//   - composite: how a level knows a rule: its key, or key_value.
//   - pattern: a composite with a *, which stands for any run of characters.
//   - path: a rule's place in the tree as text, shop.route_/checkout.
//   - key: the identity of what one rule keeps for one descriptor.
//   - finding: an error or a warning about a file, with its position.
package descriptors
