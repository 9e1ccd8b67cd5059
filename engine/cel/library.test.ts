import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { secret } from '#engine/kit/secret.ts'
import { DYN, takes } from './functions.ts'
import { CelError } from './index.ts'
import { Flattened } from './lib/json.ts'
import { functionNames, functionsNamed, methodNames, methodsNamed } from './library.ts'
import { evaluate, shown } from './testing/evaluate.ts'

type Table = Readonly<Record<string, readonly (readonly [source: string, result: string])[]>>

const TABLES: Table = {
  'json and maps': [
    [`json('{"a": [1, 2.5, "x", null]}').a`, '[1,2.5,"x",null]'],
    [`json(b'{"a": 1}').a + 1`, '2'],
    [`json('{')`, 'error: not JSON'],
    [`jsonField('{"a": {"b": [5, 6]}}', 'a.b.1')`, '6'],
    [`jsonField('{"a": 1}', 'a.b')`, 'error: no such field: a.b'],
    [`toJson({"a": [1u, 2.0, true, null], "b": b'hi'})`, `"{\\"a\\":[1,2,true,null],\\"b\\":\\"aGk=\\"}"`],
    [`merge({"a": 1, "b": 2}, {"b": 3, "c": 4})`, '{"a":1,"b":3,"c":4}'],
    [`{"a": 1}.merge({"a": 2})`, '{"a":2}'],
    [`{"a": 1, "b": 2}.mapValues(v, v * 10)`, '{"a":10,"b":20}'],
    [`{"a": 1, "b": 2}.filterKeys(k, k != "a")`, '{"b":2}'],
    [`unvalidatedJwtPayload('Bearer x.eyJzdWIiOiJhIn0.y').sub`, '"a"'],
    [`{"__proto__": 1}.__proto__`, '1']
  ],
  'names and fallbacks': [
    [`"abc".with(x, x + x)`, '"abcabc"'],
    [`cel.bind(x, 2, x * x)`, '4'],
    [`cel.bind(x, 1 / v.zero, true || x == 1)`, 'true'],
    [`default(v.missing, "none")`, '"none"'],
    [`default(v.zero, 5)`, '0'],
    [`coalesce(v.missing, v.nothing, "last")`, '"last"'],
    [`coalesce(v.missing)`, 'error: no such key: missing'],
    [`default(fail("no"), 1)`, '1'],
    [`fail("told you")`, 'error: told you']
  ],
  encodings: [
    [`base64.encode("hi") + base64.encode(b"hi")`, '"aGk=aGk="'],
    [`string(base64.decode("aGk")) + string(base64.decode("aGk="))`, '"hihi"'],
    [`base64.decode("a$k=")`, 'error: not base64'],
    [`base64Decode("aGk=") + "hi".base64Encode()`, '"hiaGk="'],
    [`url.encode("a b/ü")`, '"a%20b%2F%C3%BC"'],
    [`url.decode("a%20b") + url.encode("")`, '"a b"'],
    [`url.decode("%")`, 'error: not URL-encoded: a % must be followed by the digits of UTF-8'],
    [`form.encode({"a": "b c", "d": ["1", "2"]})`, '"a=b+c&d=1&d=2"'],
    [`form.decode("a=b+c&d=1&d=2")`, '{"a":"b c","d":["1","2"]}'],
    [`sha256.encode("a")`, JSON.stringify(createHash('sha256').update('a').digest('hex'))],
    [`sha1.encode(b"a")`, JSON.stringify(createHash('sha1').update('a').digest('hex'))],
    [`md5.encode("a")`, JSON.stringify(createHash('md5').update('a').digest('hex'))]
  ],
  strings: [
    [`"a,b,c".split(",", 2)`, '["a","b,c"]'],
    [`"😀a😀".replace("😀", "x", 1)`, '"xa😀"'],
    [`"ab".replace("", "-")`, '"-a-b-"'],
    [`"ab".replace("", "-", 2)`, '"-a-b"'],
    [`"aaa".replace("a", "b", 2)`, '"bba"'],
    [`"a".replace("a", "$&")`, '"$&"'],
    [`"😀x".indexOf("x") + "😀x".lastIndexOf("x")`, '2'],
    [`"/api/x".stripPrefix("/api") + "a.js".stripSuffix(".js")`, '"/xa"'],
    [`"a😀b".reverse()`, '"b😀a"'],
    [`regexReplace("a1b22", "[0-9]+", "#")`, '"a#b#"'],
    [`"john smith".regexReplace("(\\\\w+) (\\\\w+)", "$2 $1")`, '"smith john"'],
    [`"john smith".regexReplace(r"(\\w+) (\\w+)", r"\\2 \\1")`, '"smith john"'],
    [`"aXb".matches("(?i)x") && !"ab".matches("^b")`, 'true'],
    [`["a", "b"].join("-") + ["x"].join()`, '"a-bx"'],
    [`["a", 1].join()`, 'error: no such overload: join(list, string)'],
    [`"%s %d %.2f %x %e".format(["a", 1, 2.5, 255, 1500.0])`, '"a 1 2.50 ff 1.500000e+03"']
  ],
  'lists and sets': [
    [`[1, 2, 3, 4].slice(1, 3)`, '[2,3]'],
    [`[[1], [2, [3]]].flatten()`, '[1,2,[3]]'],
    [`[[1], [2, [3]]].flatten(2)`, '[1,2,3]'],
    [`[1, 1.0, 1u, "1", [1], [1.0]].distinct()`, '[1,"1",[1]]'],
    [`[3, 1.5, 2u].sort()`, '[1.5,2,3]'],
    [`[3, "a"].sort()`, 'error: no such overload: sort(list)'],
    [`[{"n": 2}, {"n": 1}].sortBy(e, e.n)`, '[{"n":1},{"n":2}]'],
    [`lists.range(3).reverse()`, '[2,1,0]'],
    [`lists.range(1000000)`, 'error: lists.range() takes 0 to 100000'],
    [`[1, 2].first().value() + [1, 2].last().value()`, '3'],
    [`[].first().hasValue()`, 'false'],
    [`sets.contains([1, [2]], [1.0, [2]]) && !sets.contains([1], [2])`, 'true'],
    [`sets.equivalent([1, 2, 2], [2, 1]) && sets.intersects([1], [1, 2])`, 'true'],
    [`[1, 2].transformMap(i, v, v * 2)`, '{"0":2,"1":4}'],
    [`{"a": 1}.transformMapEntry(k, v, {string(v): k})`, '{"1":"a"}']
  ],
  'addresses and ranges': [
    [`cidr("10.0.0.0/8").containsIP("10.1.2.3") && !cidr("10.0.0.0/8").containsIP("11.0.0.1")`, 'true'],
    [`cidr("10.0.0.0/8").containsIP(ip("::ffff:10.1.2.3"))`, 'true'],
    [`cidr("::/0").containsIP("1.2.3.4")`, 'false'],
    [
      `cidr("2001:db8::/32").containsCIDR("2001:db8:1::/48") && !cidr("10.0.0.0/16").containsCIDR("10.0.0.0/8")`,
      'true'
    ],
    [`cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8")`, 'true'],
    [`string(cidr("2001:db8:0:0:1::/64").masked()) + " " + string(ip("2001:DB8::0:1"))`, '"2001:db8::/64 2001:db8::1"'],
    [`cidr("10.0.0.0/8").prefixLength() + ip("::1").family()`, '14'],
    [`ip("127.0.0.1").isLoopback() && ip("::1").isLoopback() && ip("10.0.0.1").isPrivate()`, 'true'],
    [`ip("8.8.8.8").isGlobalUnicast() && !ip("224.0.0.1").isGlobalUnicast()`, 'true'],
    [`ip.isCanonical("::1") && !ip.isCanonical("0:0::1") && isIP("1.2.3.4") && !isIP("1.2.3")`, 'true'],
    [`isCIDR("10.0.0.0/8") && !isCIDR("10.0.0.0/33") && !isCIDR("10.0.0.0")`, 'true'],
    [`type(ip(v.address)) == net.IP`, 'true'],
    [`ip(v.text)`, 'error: not an IP address']
  ],
  'headers, cookies and queries': [
    [`h["x-a"]`, '["1, 2","3"]'],
    [`h.join()["x-a"]`, '"1, 2, 3"'],
    [`h.split()["x-a"]`, '["1","2","3"]'],
    [`h.raw()["cookie"]`, '["a=1; b=2"]'],
    [`h.redacted()`, '{"x-a":["1, 2","3"],"cookie":"<redacted>"}'],
    [`h.cookie("b")`, '"2"'],
    [`h.cookie("c")`, 'error: no such cookie: c'],
    [`"/p?a=1&b=2&a=3".query("a")`, '["1","3"]'],
    [`"/p?a=1".addQuery("b", "x y")`, '"/p?a=1&b=x+y"'],
    [`"/p?a=1&a=2".setQuery("a", "3")`, '"/p?a=3"']
  ],
  time: [
    [`timestamp("2026-03-29T01:30:00Z").getHours("Europe/Berlin")`, '3'],
    [`timestamp("2026-01-31T12:00:00.5+02:00")`, '"2026-01-31T10:00:00.5Z"'],
    [`timestamp("2026-02-30T00:00:00Z" + v.empty)`, 'error: a timestamp that is in no calendar'],
    [`timestamp(0) + duration("1h30m") == timestamp("1970-01-01T01:30:00Z")`, 'true'],
    [`duration("-1.5s")`, '"-1.5s"'],
    [`duration("90m") > duration("1h") && duration("1h") - duration("1h") == duration("0")`, 'true'],
    [`timestamp(0).getDayOfWeek("Mars/Olympus")`, 'error: no such time zone: Mars/Olympus'],
    [`string(timestamp("0001-01-01T00:00:00Z"))`, '"0001-01-01T00:00:00Z"']
  ]
}

const CONTEXT = {
  v: { zero: 0, nothing: null, address: '10.0.0.1', text: 'x', empty: '' },
  h: { 'x-a': ['1, 2', '3'], cookie: 'a=1; b=2' }
}

for (const [name, cases] of Object.entries(TABLES)) {
  describe(name, () => {
    for (const [source, result] of cases) test(source, () => assert.equal(shown(source, CONTEXT), result))
  })
}

test('secrets print as <redacted> unless they are asked for', () => {
  const context = { jwt: { rawToken: secret('s3cret') }, k: '$secret' }
  assert.equal(evaluate('jwt.rawToken.unredacted()', context), 's3cret')
  assert.equal(evaluate('jwt.rawToken == "s3cret"', context), false)
  for (const source of [
    'string(jwt.rawToken)',
    'toJson(jwt)',
    '"%s".format([jwt])',
    'jwt.rawToken["$secret"]',
    'jwt.rawToken[k]',
    'jwt.map(k, jwt[k])',
    'jwt.rawToken.map(k, k)'
  ]) {
    assert.doesNotMatch(shown(source, context), /s3cret/, source)
  }
})

test('chance is another value every time, and is not computed ahead', () => {
  assert.notEqual(evaluate('uuid()'), evaluate('uuid()'))
  assert.equal(evaluate('uuid() == uuid()'), false)
  assert.equal(evaluate('random() >= 0.0 && random() < 1.0 && random(10) < 10'), true)
})

test('flatten says what the writer of a log has to do', () => {
  const flat = evaluate('flatten({"a": 1})')
  assert.ok(flat instanceof Flattened && !flat.isRecursive)
  assert.ok((evaluate('flattenRecursive([1])') as Flattened).isRecursive)
})

test('a pattern that would make a backtracking engine think for years is linear', () => {
  const text = 'a'.repeat(50_000)
  assert.equal(evaluate(`x.matches('^(a+)+$')`, { x: `${text}!` }), false)
  assert.equal(evaluate(`x.matches(p)`, { x: `${text}!`, p: '(a|aa)+$' }), false)
  assert.ok(evaluate('x.matches(p)', { x: '', p: '(' }) instanceof CelError)
  assert.ok(evaluate('x.matches(p)', { x: '', p: 'a'.repeat(2000) }) instanceof CelError)
})

test('no function throws, whatever it is given', () => {
  const values = [
    null,
    true,
    1,
    2n ** 63n - 1n,
    1.5,
    '',
    'a%',
    '\ud800',
    new Uint8Array([255]),
    [],
    [1, 'a'],
    {},
    { a: [] }
  ]
  for (const name of functionNames())
    for (const declared of functionsNamed(name)) tryAll(declared.args.length, declared)
  for (const name of methodNames()) for (const declared of methodsNamed(name)) tryAll(declared.args.length, declared)

  function tryAll(
    count: number,
    declared: typeof functionsNamed extends (name: string) => readonly (infer D)[] ? D : never
  ) {
    for (let i = 0; i < values.length ** Math.min(count, 3); i++) {
      const args = Array.from({ length: count }, (_, j) => values[Math.floor(i / values.length ** j) % values.length]!)
      if (args.every((arg, j) => declared.args[j]!.is(arg)))
        assert.notEqual(declared.run(...args), undefined, declared.name)
    }
  }
})

test('the overload that matched last is tried first, and no value matches two types except DYN', () => {
  const named = [...functionNames().map(functionsNamed), ...methodNames().map(methodsNamed)]
  const values = [null, true, 1, 2n ** 63n - 1n, 1.5, 'a', new Uint8Array([1]), [1], { a: 1 }, new Map([['a', 1]])]
  for (const overloads of named) {
    const ofOne = overloads.filter((declared) => takes(declared, 1) && declared.args[0] !== DYN)
    for (const value of values) {
      const fitting = ofOne.filter((declared) => declared.args[0]!.is(value))
      assert.ok(fitting.length <= 1, `${fitting[0]?.name}: a ${typeof value}`)
    }
  }
  // A list is a DYN too.
  assert.equal(shown('[3, [2, 1], 0, [5, 4], "a"].map(x, type(x) == string ? size(x) : math.least(x))'), '[3,1,0,4,1]')
})
