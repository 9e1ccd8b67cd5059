import { equal, match } from 'node:assert/strict'
import type { Flow } from './flow.ts'

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

export const policiesFlows: readonly Flow[] = [
  {
    page: 'policies',
    does: 'evaluates an expression on the sample, and points at its mistakes',
    run: async (page) => {
      await page.getByText('steps').waitFor()
      const expression = page.getByLabel('CEL')
      await expression.fill('request.headers["X-TEAM"] + jwt.sub')
      await page.getByText('"redann"').waitFor()
      match(page.url(), /expression=/)
      await expression.fill('jwt.sub == "ann" && request.pth')
      await page.getByText('request has no field').waitFor()
      equal(await page.locator('mark').textContent(), 'pth')
      await page.getByLabel('Examples').selectOption({ label: 'A role' })
      await page.locator('.sample', { hasText: 'true' }).waitFor()
      await page.getByLabel('Values by their names').fill('{"jwt": {"roles": []}}')
      await page.locator('.sample', { hasText: 'false' }).waitFor()
      await page.getByLabel('Values by their names').fill('{')
      await page.getByText('No JSON').waitFor()
    }
  },
  {
    page: 'policies',
    does: 'shows what a guard finds, and what a model would get',
    run: async (page) => {
      await page.getByRole('link', { name: 'Guards' }).click()
      await page.locator('mark', { hasText: '536-22-8714' }).waitFor()
      await page.getByText('my SSN <SSN>').waitFor()
      await page.getByLabel('Patterns of your own').fill('I am \\w+')
      await page.locator('mark', { hasText: 'I am Ann' }).waitFor()
      await page.getByLabel('Patterns of your own').fill('(')
      await page.getByText('is no RE2 expression').waitFor()
    }
  },
  {
    page: 'policies',
    does: 'reads a token, and asks a route about it',
    run: async (page, stage) => {
      await page.getByRole('link', { name: 'Tokens' }).click()
      await page.getByLabel('JSON web token').fill(`${part({ alg: 'ES256' })}.${part({ sub: 'ann', exp: 1 })}.c2ln`)
      await page.getByText('expires').first().waitFor()
      match((await page.locator('.badge.bad').textContent()) ?? '', /expires .* ago/)
      await page.getByLabel('URL of a request with it').fill(`${stage.gateway}/cart/1`)
      await page.getByRole('button', { name: 'Explain' }).click()
      await page.getByText('What would become of it').waitFor()
      equal(page.url().includes('ey'), false)
      await page.getByLabel('JSON web token').fill('abc')
      await page.getByText('three parts').waitFor()
    }
  }
]
