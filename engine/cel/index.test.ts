import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CelError, compile, explain, Fields, type Problem, pick, type Roots, VARIABLES, type Value } from './index.ts'
import { RUN_MS_MAX, setRunMs } from './walk.ts'

const REQUEST = { method: 'GET', path: '/a', headers: { 'x-tenant': 'blue' } }

function problems(source: string, result: 'any' | 'bool' = 'any', roots: Roots = VARIABLES): readonly Problem[] {
  const compiled = compile(source, { roots, result })
  return compiled.ok ? [] : compiled.problems
}

/** All problems of a source as one text: place, message, hint. */
function complaints(source: string, result: 'any' | 'bool' = 'any'): string[] {
  return problems(source, result).map(({ offset, length, message, hint }) => {
    return `${source.slice(offset, offset + length)}: ${message}${hint === undefined ? '' : `; ${hint}`}`
  })
}

function run(source: string, context: object, roots: Roots = VARIABLES): Value {
  const compiled = compile(source, { roots })
  if (!compiled.ok) throw new Error(explain(source, compiled.problems[0]!))
  return compiled.program.run(context)
}

describe('a mistake is named with its place and its remedy', () => {
  const CASES: readonly (readonly [source: string, complaint: string])[] = [
    ['request.header["a"] == "b"', 'header: request has no field "header"; did you mean "headers"?'],
    [
      'request.headers.x-team == "a"',
      'team: no variable is called team; - is minus; a name with - is written ["x-team"]'
    ],
    ['request.path == "/" and true', 'and: expected an operator or the end, found "and"; write &&'],
    [
      'somebody',
      'somebody: no variable is called somebody; a text needs quotes of its own; ' +
        `known: ${Object.keys(VARIABLES).slice(0, 16).join(', ')}${Object.keys(VARIABLES).length > 16 ? ', ...' : ''}`
    ],
    ['requst.path == "/"', 'requst: no variable is called requst; did you mean request?'],
    ['route.rule == "a"', 'route: no variable is called route; did you mean proxy.route?'],
    ['request.path.startWith("/")', 'startWith: no function is called startWith; did you mean startsWith?'],
    ['request.path.startsWith()', 'startsWith: startsWith() takes 1 argument'],
    [
      'request.path.startsWith(1)',
      'startsWith: startsWith() does not take (string, int); it takes string.startsWith(string)'
    ],
    [
      'startsWith(request.path, "/")',
      'startsWith: startsWith is not a function; write it after a value: value.startsWith(...)'
    ],
    ['request.path.uuid()', 'uuid: uuid is not a method; write uuid(value)'],
    ['math.grtest(1, 2)', 'grtest: no function is called math.grtest; did you mean math.greatest?'],
    ['request.path + 1', '+: string + int has no meaning'],
    ['1 + 2.0', '+: int + double has no meaning: convert one with int(), uint() or double()'],
    ['request.path == 1', '==: string and int are never equal'],
    ['request.path && true', 'request.path: && takes bools, not a string'],
    ['!request.path', 'request.path: ! takes a bool, not a string'],
    ['request.method[0]', 'request.method[0]: a string cannot be indexed'],
    ['request.path.all(x, true)', 'request.path: all() visits a list or a map, not a string'],
    ['jwt.groups.exists(g)', 'exists: wrong arguments for exists(); as in list.all(x, x > 0), map.all(k, v, v > 0)'],
    ['jwt.groups.exist(g, g == "a")', 'exist: no function is called exist; did you mean exists?'],
    ['has(request)', 'request: has() asks for a field: has(a.b)'],
    ['request.path.matches("(")', '"(": not a pattern of RE2: error parsing regexp: missing closing ): `(`'],
    ['request.path = "/"', '=: unexpected character "="; write =='],
    ['"a', '": a string without its closing "'],
    ['(1', ': expected ")", found the end'],
    ['Thing{a: 1}', 'Thing{a: 1}: there is no message type Thing; maps are written {"name": value}'],
    ['1 / 0', '1 / 0: this always fails: division by zero'],
    ['for', 'for: for is a reserved word']
  ]
  for (const [source, complaint] of CASES) {
    test(source, () => assert.deepEqual(complaints(source), [complaint]))
  }

  test('all mistakes of an expression come at once, in their order', () => {
    assert.deepEqual(
      problems('request.pth == "/" && foo(1) && jwtt.sub == "a"').map(({ offset }) => offset),
      [8, 22, 32]
    )
  })

  test('explained to a person: line:column, the line, a caret', () => {
    const source = 'request.path == "/" &&\n  request.header["a"] == "b"'
    assert.equal(
      explain(source, problems(source)[0]!),
      [
        '2:11: request has no field "header"; did you mean "headers"?',
        '    request.header["a"] == "b"',
        '            ^^^^^^'
      ].join('\n')
    )
  })

  test('a result of a kind that the caller cannot use is refused, as far as it is known', () => {
    assert.deepEqual(complaints('request.path', 'bool'), [
      'request.path: the result is string, and bool is wanted here'
    ])
    assert.deepEqual(complaints('jwt.admin', 'bool'), [])
  })

  test('lenient: names and types are left to the run', () => {
    const compiled = compile('foo(1) || request.path == "/a"', { roots: VARIABLES, isLenient: true })
    assert.ok(compiled.ok)
    assert.equal(compiled.program.run({ request: REQUEST }), true)
  })
})

describe('needs', () => {
  function needs(source: string) {
    const compiled = compile(source, { roots: VARIABLES })
    assert.ok(compiled.ok)
    return compiled.program.needs
  }

  test('headers with constant names are known by name, others need all of them', () => {
    assert.deepEqual(
      needs('request.headers["X-A"] == "1" && has(request.headers.b)').requestHeaders,
      new Set(['x-a', 'b'])
    )
    assert.deepEqual(needs('request.path == "/"').requestHeaders, new Set())
    assert.equal(needs('request.headers[request.path] == "1"').requestHeaders, 'all')
    assert.equal(needs('request.headers.exists(k, k == "a")').requestHeaders, 'all')
    assert.equal(needs('size(request) > 1').requestHeaders, 'all')
    assert.equal(needs('variables().request.path == "/"').requestHeaders, 'all')
  })

  test('bodies are needed when they are read, also by index or as part of the whole', () => {
    assert.equal(needs('json(request.body).model == "a"').requestBody, true)
    assert.equal(needs('request["body"] == "a"').requestBody, true)
    assert.equal(needs('toJson(request) == "a"').requestBody, true)
    assert.equal(needs('request.path == "/"').requestBody, false)
    assert.equal(needs('response.body == ""').responseBody, true)
  })

  test('variables of macros are no needs', () => {
    assert.deepEqual(needs('jwt.groups.exists(request, request == "a")').paths, [['jwt', 'groups']])
  })
})

describe('host data', () => {
  test('a field of a prototype is never seen', () => {
    for (const field of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      assert.equal(run(`has(jwt.${field})`, { jwt: { sub: 'a' } }), false)
      assert.ok(run(`jwt.${field}`, { jwt: { sub: 'a' } }) instanceof CelError)
      assert.equal(run(`has(jwt.${field})`, { jwt: JSON.parse(`{"${field}": 1}`) as object }), true)
    }
  })

  test('lazy fields are read when they are asked for, and only those', () => {
    const names: string[] = []
    class Lazy extends Fields {
      get(key: string): Value | undefined {
        names.push(key)
        return key === 'sub' ? 'alice' : undefined
      }

      keys(): string[] {
        return ['sub']
      }
    }
    assert.equal(run('jwt.sub == "alice" && !has(jwt.aud)', { jwt: new Lazy() }), true)
    assert.deepEqual(names, ['sub', 'aud'])
  })

  test('readers of the caller decide how a variable is read', () => {
    const roots = pick<{ token: Value }>(['jwt'], { jwt: (context) => context.token })
    const compiled = compile('jwt.sub', { roots })
    assert.ok(compiled.ok)
    assert.equal(compiled.program.run({ token: { sub: 'alice' } }), 'alice')
    assert.throws(() => pick(['nothing'], {}), /no variable is called nothing/)
  })

  test('an absent value: has() is false, .? is none, other access is an error that || absorbs', () => {
    assert.equal(run('has(jwt.sub)', {}), false)
    assert.equal(run('has(mcp.tool.name)', { mcp: {} }), false)
    assert.equal(run('jwt.?sub.orValue("nobody")', {}), 'nobody')
    assert.equal(run('jwt.sub == "a" || request.method == "GET"', { request: REQUEST }), true)
    const error = run('jwt.sub == "a"', {})
    assert.ok(error instanceof CelError)
    assert.equal(error.code, 'noSuchKey')
  })

  test('a variable with known fields is a map of them when it is taken whole', () => {
    assert.equal(run('request.all(k, k in ["method", "path", "headers"])', { request: REQUEST }), true)
    assert.equal(run('request["path"]', { request: REQUEST }), '/a')
    assert.equal(run('variables().request.path', { request: REQUEST }), '/a')
  })

  test('a reader that throws fails the run and nothing else', () => {
    const roots: Roots = { bad: { type: 'dyn', read: () => assert.fail('gone') } }
    const value = run('bad == 1', {}, roots)
    assert.ok(value instanceof CelError && value.message === 'gone')
  })
})

describe('cost', () => {
  test('a run that takes too many steps ends with an error, also when || could absorb it', () => {
    const list = JSON.stringify(Array.from({ length: 60 }, (_, i) => i))
    const source = `${list}.all(a, ${list}.all(b, ${list}.all(c, a + b + c >= 0))) || true`
    const value = run(source, {})
    assert.equal(value, true, 'a constant decides before anything runs')
    const cut = run(source.replace('|| true', '|| request.path == "/a"'), { request: REQUEST })
    assert.ok(cut instanceof CelError && cut.code === 'cost')
  })

  test('replacing in a text that it cannot pay for is not begun: it would take seconds', () => {
    const body = 'a'.repeat(1 << 20)
    const value = run("regexReplace(request.body, 'a', 'b')", { request: { ...REQUEST, body } })
    assert.ok(value instanceof CelError && value.code === 'cost')
    assert.equal(run("request.body.matches('b')", { request: { ...REQUEST, body } }), false)
  })

  test('doubling a text ends at its limit, not at the end of memory', () => {
    let source = 'x'
    for (let i = 0; i < 100; i++) source = `cel.bind(x, x + x, ${source})`
    const value = run(`cel.bind(x, "0123456789", ${source})`.replaceAll('cel.bind(x, x + x, x)', 'x'), {})
    assert.ok(value instanceof CelError && value.code === 'range')
  })

  test('iterating over a value with endless parts is an error', () => {
    let value = '["a"]'
    for (let i = 0; i < 60; i++) value = `cel.bind(x, ${value}, [x, x])`
    for (const use of ['toJson(v)', '"%s".format([v])', 'v.flatten(100)', `v == ${value}`]) {
      const result = run(`cel.bind(v, ${value}, dyn(${use}) == "")`, {})
      assert.ok(result instanceof CelError && /more than 200000 parts/.test(result.message), use)
    }
  })

  test('a constant that is too deep to walk over is left to the run', () => {
    const both = compile(
      `json('${'['.repeat(4000)}${']'.repeat(4000)}') == json('${'['.repeat(4000)} ${']'.repeat(4000)}')`,
      { roots: VARIABLES }
    )
    assert.ok(both.ok)
    assert.notEqual(both.program.run({}), undefined)
  })

  test('a replacement that would fill the memory is refused before it is made', () => {
    const context = { request: { path: 'a'.repeat(500_000) } }
    const by = 'b'.repeat(1000)
    for (const source of [
      `request.path.replace("a", "${by}")`,
      `regexReplace(request.path, "a", "${by}")`,
      `regexReplace(request.path, "a+", "${'$0'.repeat(500)}")`
    ]) {
      const result = run(source, context)
      assert.ok(result instanceof CelError && result.code === 'range', source.slice(0, 30))
    }
  })

  test('dear calls are charged: patterns that only the run knows, time zones, long results', () => {
    const groups = Array.from({ length: 3000 }, (_, i) => `g${i}`)
    const context = { jwt: { groups, at: 0 }, request: { path: '/a' } }
    const dear = [
      'jwt.groups.exists(g, "x".matches(g))',
      'jwt.groups.exists(g, timestamp(jwt.at).getHours("+00:00" + (g == "" ? "" : "")) == 25)',
      'jwt.groups.map(g, lists.range(size(g) * 40000)).size() == 0',
      'jwt.groups.exists(g, jwt.groups.map(h, h) != jwt.groups.map(h, h))'
    ]
    for (const source of dear) {
      const result = run(source, context)
      assert.ok(result instanceof CelError && result.code === 'cost', source)
    }
    assert.equal(run('jwt.groups.exists(g, g.matches("^x"))', context), false)
  })

  test('a run ends with its time, whatever its steps are', (t) => {
    t.after(() => setRunMs(RUN_MS_MAX))
    setRunMs(0)
    const context = {
      jwt: { groups: Array.from({ length: 3000 }, (_, i) => i) },
      request: { path: 'a'.repeat(2_000_000) }
    }
    for (const source of [
      'jwt.groups.all(a, jwt.groups.all(b, a + b >= 0))',
      'jwt.groups.all(a, request.path != "b" + request.path)',
      'jwt.groups.all(a, size(toJson(jwt.groups)) > 0)',
      'regexReplace(string(request.path.substring(0, 2000)), "a", "b") == ""'
    ]) {
      const result = run(source, context)
      assert.ok(result instanceof CelError && result.code === 'time', source)
      assert.match(result.message, /more time than its limit of 0 ms/)
    }
    assert.equal(run('jwt.groups.exists(g, g == 7) || false', context), true)
  })

  test('a variable of the host is read once in a loop', () => {
    let reads = 0
    const body = {
      type: 'string',
      read: () => {
        reads++
        return 'text'
      }
    } as const
    const counted = compile('[1, 2, 3].all(x, [4, 5].all(y, request.body != "" && request["body"] != ""))', {
      roots: { request: { type: 'map', read: () => ({}), fields: { body } } }
    })
    assert.ok(counted.ok)
    assert.equal(counted.program.run({}), true)
    assert.equal(reads, 1)
    assert.equal(counted.program.run({}), true)
    assert.equal(reads, 2)
  })

  test('possibly expensive expressions are known before they run', () => {
    const expensive = (source: string, bytes: number) => {
      const compiled = compile(source, { roots: VARIABLES })
      assert.ok(compiled.ok)
      return compiled.program.cost.mayBeExpensive(bytes)
    }
    assert.equal(expensive('request.path == "/" && jwt.sub == "a"', 1_000_000), false)
    assert.equal(expensive('json(request.body).model == "a"', 10_000), false)
    assert.equal(expensive('json(request.body).model == "a"', 1_000_000), true)
    assert.equal(expensive('json(request.body).m.exists(m, m.role == "user")', 1_000), false)
    assert.equal(expensive('json(request.body).m.exists(m, m.role == "user")', 100_000), true)
    assert.equal(expensive('json(request.body).m.all(a, json(request.body).m.all(b, a == b))', 4_000), true)
  })
})
