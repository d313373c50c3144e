//! Made-up people with names as Nigerians bear them: few names are borne by many, many by few, and both halves
//! of a name come from one part of the country more often than not. Heads of the lists in the order of how
//! often one meets them, from general knowledge; behind them the names the program knows.

use std::sync::LazyLock;

use crate::world::Dice;

const NORTH: &str = "Ibrahim Musa Abubakar Mohammed Sani Usman Aliyu Abdullahi Umar Yusuf Adamu Bello Suleiman Ahmed \
    Garba Isah Lawal Idris Hassan Haruna Salisu Yakubu Shehu Aminu Bala Danjuma Kabiru Nasiru Sadiq Mustapha Aisha Fatima \
    Maryam Zainab Hauwa Halima Amina Khadija Rabi Hadiza Saadatu Asmau Safiya Hafsat Rukayya Jamila Bilkisu Ladi Talatu \
    Nafisa Danladi Audu Baba Tanko Inuwa Gambo Auwal Murtala Jibrin Zakari Tijjani Buhari Gidado Rabiu Dauda";
const WEST: &str = "Adebayo Adeyemi Ogunleye Oluwaseun Ajayi Adekunle Olaniyan Balogun Afolabi Oladipo Babatunde \
    Temitope Oluwatobi Olamide Adewale Tunde Folake Bolanle Yetunde Funmilayo Kehinde Taiwo Ayodele Ayomide Damilola \
    Titilayo Omolara Bukola Ronke Abiodun Akinola Olawale Oyebanji Fashola Ogundipe Adeleke Adeola Oyelaran Salami \
    Raji Lateef Mutiu Rasheed Sikiru Kazeem Ganiyu Adesina Ojo Alabi Akande Ogunbiyi Aderemi Olayinka Opeyemi Tosin Segun \
    Gbenga Kunle Sola Wale Lanre Dele Kemi Bisi Lola Simisola Moyosore Ibukun Olumide Oluwafemi";
const EAST: &str = "Chukwu Okafor Okoro Eze Nwosu Nwankwo Okonkwo Obi Onyeka Chinedu Chidi Emeka Ngozi Chioma Ifeoma \
    Chiamaka Obinna Ikechukwu Kelechi Uche Amaka Adaeze Nkechi Chinonso Chidera Ebuka Somto Kenechukwu Onwudiwe Nnamdi \
    Nwachukwu Okeke Anyanwu Ezeh Igwe Nwafor Uzor Onuoha Ibe Ogbonna Madu Agu Oti Nwokolo Mbah Ugwu Ani Ozor Udeh Eneh \
    Chukwuemeka Chibuzor Uchenna Oluchi Nneka Ugochukwu Arinze Ifeanyi Kosisochukwu Chimamanda Njoku Iheanacho Opara";
const SOUTH: &str = "Blessing Sunday Emmanuel Peace Joy Grace John Samuel Daniel David Victor Mary Esther Ruth Gift \
    Favour Mercy Faith Friday Monday Godwin Peter Paul Joseph Michael James Patience Comfort Effiong Bassey Etim Okon Udo \
    Ekaete Ime Nse Ita Inyang Akpan Essien Edet Asuquo Osagie Osaze Aigbe Omoregie Ehigie Igbinovia Efe Ovie Oghene \
    Ejiro Ese Tamuno Dokubo Briggs Ebiere Tari Preye Timi Wariboko Amadi Wike Nwibari Terhemba Aondona Iorfa Terna";
const KNOWN: &str = include_str!("../../data/names/known_names.txt");
/// How much of the names of a part of the country come from another one, of a hundred.
const MIXED: usize = 12;
/// Flattens the head of the distribution: the commonest name of a list is borne by about 3 % of its people.
const HEAD: usize = 5;
const TAIL: usize = 3_000;

/// Names in the order of how common they are, with the running sum of their weights.
struct Names {
    names: Vec<&'static str>,
    sums: Vec<usize>,
}

impl Names {
    fn new(head: &'static str, tail: &[&'static str]) -> Names {
        let names: Vec<&str> = head.split_whitespace().chain(tail.iter().copied()).collect();
        let mut sum = 0;
        let sums = (0..names.len()).map(|rank| {
            sum += 1_000_000 / (rank + HEAD);
            sum
        });
        Names { sums: sums.collect(), names }
    }

    fn draw(&self, dice: &mut Dice) -> &'static str {
        let at = dice.below(*self.sums.last().expect("names"));
        self.names[self.sums.partition_point(|sum| *sum <= at)]
    }
}

static PARTS: LazyLock<[Names; 4]> = LazyLock::new(|| {
    let known: Vec<&str> =
        KNOWN.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect();
    let tail = |from: usize| -> Vec<&'static str> {
        known.iter().copied().skip(from).step_by(4).take(TAIL).collect()
    };
    [
        Names::new(NORTH, &tail(0)),
        Names::new(WEST, &tail(1)),
        Names::new(EAST, &tail(2)),
        Names::new(SOUTH, &tail(3)),
    ]
});

/// A name of two words, or of three.
pub fn name(dice: &mut Dice) -> String {
    let part = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3][dice.below(10)];
    let mut words: Vec<&str> = Vec::new();
    let count = if dice.below(100) < 45 { 3 } else { 2 };
    while words.len() < count {
        let from = if dice.below(100) < MIXED { dice.below(4) } else { part };
        let word = PARTS[from].draw(dice);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// The name as a bank writes it: capitals, often the surname first, sometimes without a middle name.
pub fn as_banks_write(name: &str, dice: &mut Dice) -> String {
    let mut words: Vec<&str> = name.split(' ').collect();
    if words.len() == 3 && dice.below(100) < 30 {
        words.remove(1);
    }
    if dice.below(100) < 60 {
        words.rotate_right(1);
    }
    words.join(" ").to_uppercase()
}
