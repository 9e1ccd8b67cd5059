/** Names for clients, and back. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Names, resultForClient } from './names.ts'

const two = new Names(['a', 'b-c'], 'conditional')
const one = new Names(['a'], 'conditional')

describe('names', () => {
  it('of several targets survive the round trip', () => {
    const target = fc.constantFrom('a', 'b-c')
    fc.assert(
      fc.property(target, fc.string(), fc.oneof(fc.string(), fc.maxSafeInteger()), (owner, name, id) => {
        deepEqual(two.ownerOfName(two.name(owner, name)), { target: owner, name })
        deepEqual(two.ownerOfUri(two.uri(owner, name)), { target: owner, name })
        deepEqual(two.ownerOfUri(two.uri(owner, `ui://${name}`)), { target: owner, name: `ui://${name}` })
        deepEqual(two.ownerOfTask(two.taskId(owner, name)), { target: owner, name })
        deepEqual(two.ownerOfId(two.id(owner, id)), { target: owner, id: Object.is(id, -0) ? 0 : id })
      })
    )
  })

  it('of a single target are unchanged', () => {
    deepEqual(one.ownerOfName('b_c'), { target: 'a', name: 'b_c' })
    deepEqual([one.uri('a', 'x:y'), one.id('a', 4), one.taskId('a', 't')], ['x:y', 4, 't'])
  })

  it('of no target have no owner', () => {
    for (const name of ['', 'a', 'c_x', '_x', 'a+x']) equal(two.ownerOfName(name), null)
    for (const uri of ['', 'x:y', 'ui://x', 'ui://c+x', 'a_x']) equal(two.ownerOfUri(uri), null)
    for (const id of [4, 'a', 'a+', 'a+x1', 'a+nx', 'c+n1']) equal(two.ownerOfId(id), null)
  })

  it('have a prefix always, or never', () => {
    const always = new Names(['a'], 'always')
    deepEqual([always.name('a', 'x'), always.ownerOfName('x'), always.uri('a', 'x:y')], ['a_x', null, 'x:y'])
    const never = new Names(['a', 'b'], 'never')
    deepEqual([never.name('a', 'x'), never.ownerOfName('a_x'), never.uri('a', 'x:y')], ['x', null, 'a+x:y'])
  })

  it('within results become those that clients know', () => {
    const result = {
      content: [
        { type: 'text', text: 'file:///x' },
        { type: 'resource', resource: { uri: 'file:///x', text: '' } }
      ],
      task: { taskId: 't', status: 'working' },
      _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't' }, ui: { resourceUri: 'ui://p/q' } }
    }
    deepEqual(resultForClient(two, 'a', result), {
      content: [
        { type: 'text', text: 'file:///x' },
        { type: 'resource', resource: { uri: 'a+file:///x', text: '' } }
      ],
      task: { taskId: 'a+t', status: 'working' },
      _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'a+t' }, ui: { resourceUri: 'ui://a+p/q' } }
    })
    equal(resultForClient(one, 'a', result), result)
  })
})
