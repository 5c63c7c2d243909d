# mysql2: ruby mysql2.rb PORT TABLE PID
require 'mysql2'

PORT = ARGV[0].to_i
TABLE = ARGV[1]
MIRROR = ARGV[2].to_i
ADDED = {'id' => 5001, 'title' => "Größe \"M\", it's 5\\6", 'price' => 7, 'rating' => 2.5, 'brand' => 'Zest', 'stock' => -5}.freeze
$passed = $failed = 0

head, *lines = File.readlines("#{__dir__}/expected.tsv", chomp: true, encoding: 'UTF-8')
COLUMNS = head.split("\t").map { |column| column.split(':') }
READERS = {'int' => :to_i, 'float' => :to_f, 'text' => :to_s}.freeze
EXPECTED = lines.map do |line|
  line.split("\t").zip(COLUMNS).to_h { |cell, (name, type)| [name, cell.send(READERS[type])] }
end

# Prints how the block ended; an exception in it is a failure, and the next check follows.
def check(name)
  yield
  $passed += 1
  puts "ok #{name}"
rescue StandardError => e
  $failed += 1
  puts "FAILED #{name}: #{e.message.split.join(' ')[0, 600]}"
end

# Values and types are equal.
def same(wanted, found)
  raise "#{found.inspect} instead of #{wanted.inspect}" unless wanted.eql?(found)
end

def connect
  Mysql2::Client.new(host: '127.0.0.1', port: PORT, username: 'any', password: 'secret', database: 'shop')
end

def rows(sql)
  $client.query(sql).to_a
end

def prepared(sql, *values)
  statement = $client.prepare(sql)
  statement.execute(*values).to_a
ensure
  statement&.close
end

def fails(sql, *codes)
  rows(sql)
rescue Mysql2::Error => e
  raise "#{e.error_number} instead of #{codes}" unless codes.include?(e.error_number)
else
  raise "no error: #{sql}"
end

def pick(rows, *names)
  rows.map { |row| row.slice(*names) }
end

check('connect') do
  $client = connect
  same([{'DATABASE()' => 'shop'}], rows('SELECT DATABASE()'))
  same(true, $client.ping)
end
check('types') do
  sql = "SELECT #{COLUMNS.map(&:first).join(', ')} FROM #{TABLE} WHERE brand = 'Ironwood' ORDER BY id ASC"
  same(EXPECTED, rows(sql))
  same(EXPECTED, prepared(sql))
end
check('pages') do
  EXPECTED.each_slice(4).with_index do |page, number|
    wanted = pick(page, 'id', 'title')
    sql = "SELECT id, title FROM #{TABLE} WHERE brand = 'Ironwood' ORDER BY id ASC"
    same(wanted, rows("#{sql} LIMIT 4 OFFSET #{4 * number}"))
    same(wanted, prepared("#{sql} LIMIT ? OFFSET ?", 4, 4 * number))
  end
  same([{'n' => EXPECTED.size}], rows("SELECT COUNT(*) AS n FROM #{TABLE} WHERE brand = 'Ironwood'"))
end
check('prepare') do
  statement = $client.prepare("SELECT #{COLUMNS.map(&:first).join(', ')} FROM #{TABLE} WHERE id = ?")
  EXPECTED.each { |row| same([row], statement.execute(row['id']).to_a) }
  statement.close
  wanted = pick(EXPECTED.select { |row| row['rating'] > 3.1 }, 'id')
  same(wanted, prepared("SELECT id FROM #{TABLE} WHERE brand = ? AND rating > ? ORDER BY id ASC LIMIT ?", 'Ironwood', 3.1, 100))
  same([], prepared("SELECT id FROM #{TABLE} WHERE brand = ?", "x' OR '1'='1"))
end
check('error') do
  fails("SELECT nothing FROM #{TABLE}", 1054, 1064) # of MySQL, of the engine
  fails('SELECT id FROM nosuch', 1146)
  fails('SELEC id', 1064)
  same(pick(EXPECTED[0, 1], 'id'), rows("SELECT id FROM #{TABLE} WHERE id = #{EXPECTED[0]['id']}"))
end
check('change') do
  select = "SELECT #{ADDED.keys.join(', ')} FROM #{TABLE} WHERE id = #{ADDED['id']}"
  $client.query('BEGIN')
  insert = $client.prepare("INSERT INTO #{TABLE} (#{ADDED.keys.join(', ')}) VALUES (?, ?, ?, ?, ?, ?)")
  insert.execute(*ADDED.values)
  same(1, insert.affected_rows)
  $client.query('COMMIT')
  same([ADDED], rows(select))
  $client.query("UPDATE #{TABLE} SET price = 8 WHERE id = #{ADDED['id']}")
  same(1, $client.affected_rows)
  same(8, rows(select)[0]['price'])
  $client.query("DELETE FROM #{TABLE} WHERE id = #{ADDED['id']}")
  same([], rows(select))
end
check('mirror') do
  wanted = pick(EXPECTED, 'id', 'title')
  ask = -> { same(wanted, rows("SELECT id, title FROM #{TABLE} WHERE brand = 'Ironwood' ORDER BY id ASC")) }
  60.times do |turn|
    Process.kill('KILL', MIRROR) if turn == 20
    ask.call
  end
  $client.close
  $client = connect
  ask.call
end
puts "#{$passed} passed, #{$failed} failed"
exit($failed.zero? ? 0 : 1)
