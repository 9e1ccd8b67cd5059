import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { hrefOf, placeOf } from './router.ts'

test('a place is the path below /ui/, decoded, and the query', () => {
  deepEqual(placeOf('/ui/').parts, [])
  const { parts, query } = placeOf('/ui/keys/a%2Fb/?team=ml%20x&by=day')
  deepEqual(
    [parts, [...query]],
    [
      ['keys', 'a/b'],
      [
        ['team', 'ml x'],
        ['by', 'day']
      ]
    ]
  )
  deepEqual(placeOf('/ui/keys/%zz').parts, ['keys', '%zz'])
  deepEqual(placeOf('/elsewhere').parts, [])
})

test('a link leads back to the same place, and has no empty parameters', () => {
  equal(hrefOf(['keys']), '/ui/keys')
  equal(hrefOf([]), '/ui/')
  const href = hrefOf(['keys', 'a/b c'], { team: 'x&y', model: '', from: null, to: undefined })
  equal(href, '/ui/keys/a%2Fb%20c?team=x%26y')
  deepEqual(placeOf(href).parts, ['keys', 'a/b c'])
  equal(placeOf(href).query.get('team'), 'x&y')
})
